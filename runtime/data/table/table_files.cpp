#include "runtime/data/table/table_files.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json read_object(const fs::path& path) {
  Json object = Json::parse(std::ifstream(path), nullptr, false);
  D9D_REQUIRE(object.is_object(), "{} is no JSON object; write the folder anew with save_to_disk()",
              path.string());
  return object;
}

[[noreturn]] void fail_for_splits(const fs::path& folder) {
  const Json splits = read_object(folder / "dataset_dict.json").value("splits", Json::array());
  std::string names;
  for (const Json& split : splits) {
    if (split.is_string())
      names += (names.empty() ? "" : ", ") + (folder / split.get<std::string>()).string();
  }
  throw Error(ErrorKind::input, fmt::format("data.files: {} has several splits; name one of {}",
                                            folder.string(), names.empty() ? "its folders" : names));
}

// datasets.Dataset.save_to_disk: {"_data_files": [{"filename": "data-00000-of-00002.arrow"}, ...], ...}.
// Versions before 2.0 may have written the order of a selection beside the data.
std::vector<std::string> files_of_state(const fs::path& folder) {
  const Json state = read_object(folder / "state.json");
  const Json indices = state.value("_indices_data_files", Json());
  D9D_REQUIRE(indices.is_null() || indices.empty(),
              "data.files: {} keeps a selection of its rows apart; write it with "
              "dataset.flatten_indices().save_to_disk(...)",
              folder.string());
  std::vector<std::string> out;
  for (const Json& file : state.value("_data_files", Json::array())) {
    const Json name = file.is_object() ? file.value("filename", Json()) : Json();
    D9D_REQUIRE(name.is_string(), "{}: _data_files has an entry without a filename",
                (folder / "state.json").string());
    out.push_back((folder / name.get<std::string>()).string());
  }
  D9D_REQUIRE(!out.empty(), "{}: _data_files names no file", (folder / "state.json").string());
  return out;
}

std::vector<std::string> files_of_folder(const fs::path& folder, const std::string& ending) {
  if (fs::exists(folder / "dataset_dict.json")) fail_for_splits(folder);
  if (ending == "arrow" && fs::exists(folder / "state.json")) return files_of_state(folder);
  std::vector<std::string> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == "." + ending) out.push_back(entry.path().string());
  }
  D9D_REQUIRE(!out.empty(),
              "data.files: the folder {} has no file that ends in .{}; name its files, or set "
              "data.format",
              folder.string(), ending);
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> matches_of(const std::string& name) {
  if (name.find_first_of("*?[") == std::string::npos) return {name};
  glob_t found{};
  const int status = ::glob(name.c_str(), 0, nullptr, &found);
  std::vector<std::string> out;
  if (status == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  D9D_REQUIRE(status == 0, "data.files: nothing matches {}", name);
  return out;
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& files, const std::string& ending) {
  std::vector<std::string> out;
  for (const std::string& name : files) {
    for (const std::string& match : matches_of(name)) {
      std::error_code ignored;
      if (ending.empty() || !fs::is_directory(match, ignored)) {
        out.push_back(match);
        continue;
      }
      const auto inside = files_of_folder(match, ending);
      out.insert(out.end(), inside.begin(), inside.end());
    }
  }
  D9D_REQUIRE(!out.empty(), "data.files is empty; name at least one file");
  return out;
}

}  // namespace d9d
