#include "runtime/data/file/table_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/file/decoded_file.hpp"
#include "runtime/data/file/name_pattern.hpp"
#include "runtime/data/file/splits.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json read_object(const fs::path& path) {
  std::ifstream file(path);
  Json object = try_parse_json<Json>(file);
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
  throw Error(ErrorKind::input, fmt::format("data.files: {} has several splits; name one of {}, or its "
                                            "name with data.split",
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

// What programs leave beside data.
bool is_beside_data(const fs::path& path) {
  const std::string name = path.filename().string();
  static constexpr std::array marks{"_SUCCESS", "_committed", "_started", "_metadata", "_common_metadata"};
  const bool is_mark = std::ranges::any_of(marks, [&](const char* mark) { return name.starts_with(mark); });
  return is_mark || (name.starts_with("cache-") && name.ends_with(".arrow"));
}

bool has_ending(std::string_view path, const std::vector<std::string>& endings) {
  const std::string plain = lower_case(without_packing(path));
  return std::ranges::any_of(endings, [&](const std::string& ending) { return plain.ends_with(ending); });
}

class FolderFiles {
 public:
  FolderFiles(const fs::path& folder, const std::vector<std::string>& endings, const std::string& split)
      : folder_(folder), endings_(endings), split_(split) {
    look_into(folder, 0);
    std::ranges::sort(found_, {}, &Found::path);
    found_.insert(found_.end(), saved_.begin(), saved_.end());
  }
  const std::vector<Found>& found() const { return found_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  static constexpr int depth_max = 32;  // links may go round

  bool takes_arrow() const { return std::ranges::find(endings_, ".arrow") != endings_.end(); }

  void look_into(const fs::path& folder, int depth) {
    D9D_REQUIRE(depth <= depth_max, "data.files: {} has folders in folders without end; name its files",
                folder_.string());
    if (fs::exists(folder / "dataset_dict.json") && split_.empty()) fail_for_splits(folder);
    if (takes_arrow() && fs::exists(folder / "state.json")) {
      for (const std::string& file : files_of_state(folder)) add(saved_, file);
      return;
    }
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      entries.push_back(*entry);
    D9D_REQUIRE(!error, "data.files: cannot look into {}: {}", folder.string(), error.message());
    // Sorted, because the system lists files in an order that differs between hosts.
    std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path().string(); });
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.')) continue;
      if (entry.is_directory()) {
        look_into(entry.path(), depth + 1);
      } else if (has_ending(name, endings_)) {
        is_beside_data(name) ? left_out_.push_back(entry.path().string())
                             : add(found_, entry.path().string());
      }
    }
  }

  void add(std::vector<Found>& out, const std::string& path) const {
    out.push_back({path, fs::path(path).lexically_relative(folder_).string()});
  }

  const fs::path folder_;
  const std::vector<std::string>& endings_;
  const std::string split_;
  std::vector<Found> found_, saved_;
  std::vector<std::string> left_out_;
};

std::vector<Found> files_of_folder(const fs::path& folder, const std::vector<std::string>& endings,
                                   const FileWish& wish) {
  const FolderFiles files(folder, endings, wish.split.value_or(""));
  if (!files.left_out().empty())
    log::warn("data.files: these files of {} are left out, because they are no data: {}", folder.string(),
              names_of(files.left_out()));
  std::string names;
  for (const std::string& ending : endings) names += (names.empty() ? "" : " or ") + ending;
  D9D_REQUIRE(!files.found().empty(),
              "data.files: the folder {} has no file that ends in {}; name its files, or set data.format",
              folder.string(), names);
  return files.found();
}

// A file beside its packed self would be read twice.
void require_once(const std::vector<Found>& found) {
  std::set<std::string_view> plain;
  for (const Found& file : found) {
    if (without_packing(file.path) == file.path) plain.insert(file.path);
  }
  for (const Found& file : found) {
    D9D_REQUIRE(without_packing(file.path) == file.path || !plain.contains(without_packing(file.path)),
                "data.files: {} is there packed and unpacked; name one of them, or remove the other",
                file.path);
  }
}

// For a folder without a given format.
FileFormat format_of_folder(const fs::path& folder, FileFormat otherwise) {
  std::set<FileFormat> formats;
  for (const FileFormat format : {FileFormat::jsonl, FileFormat::json, FileFormat::parquet, FileFormat::arrow,
                                  FileFormat::csv, FileFormat::tsv}) {
    const std::vector<std::string> endings = endings_of(format);
    if (!FolderFiles(folder, endings, all_splits).found().empty()) formats.insert(format);
  }
  if (formats.size() > 1) formats.erase(FileFormat::json);  // descriptions of the data
  if (formats.empty()) return otherwise;
  if (formats.size() == 1) return *formats.begin();
  std::string names;
  for (const FileFormat format : formats) names += (names.empty() ? "" : ", ") + std::string(name_of(format));
  throw Error(ErrorKind::input,
              fmt::format("data.files: {} has files of several formats ({}); choose one with data.format",
                          folder.string(), names));
}

FileFormat format_of_file(const std::string& path, FileFormat otherwise) {
  if (const auto format = format_of_ending(path)) return *format;
  if (otherwise == FileFormat::text) return otherwise;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return otherwise;  // opening it is the better error
  DecodedFile file(path);
  std::array<char, 4096> first{};
  const std::size_t size = file.read(first);
  return format_of_bytes({first.data(), size}).value_or(otherwise);
}

// Of all files together.
FileFormat format_of_all(const std::vector<std::string>& paths, FileFormat otherwise) {
  std::map<FileFormat, std::string> formats;  // with a file of each
  for (const std::string& path : paths) formats.try_emplace(format_of_file(path, otherwise), path);
  if (formats.size() == 1) return formats.begin()->first;
  const auto has = [&](FileFormat format) { return formats.contains(format); };
  // A heap of texts may well have a .csv and a .json among them.
  if (has(FileFormat::text) && !has(FileFormat::jsonl) && !has(FileFormat::parquet) &&
      !has(FileFormat::arrow)) {
    log::warn("data.files: {} and {} are read as plain text; data.format says otherwise",
              formats.begin()->second, std::next(formats.begin())->second);
    return FileFormat::text;
  }
  std::string names;
  for (const auto& [format, path] : formats)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", path, name_of(format));
  throw Error(ErrorKind::input,
              fmt::format("data.files are of several formats: {}; name files of one format, or say "
                          "with data.format how all of them are read",
                          names));
}

void require_unpacked_tables(const DataFiles& files) {
  if (files.format != FileFormat::parquet && files.format != FileFormat::arrow) return;
  for (const std::string& path : files.paths) {
    D9D_REQUIRE(without_packing(path) == path,
                "data.files: {} is packed, and {} files are read in place; unpack it", path,
                name_of(files.format));
  }
}

// The files of a file's name, a pattern, or a folder; by split where it says which of several are meant.
std::vector<Found> found_by(const std::string& name, const FileWish& wish) {
  const std::vector<std::string> matches = matches_of(name);
  std::vector<Found> found;
  bool is_named = matches.size() == 1 && matches.front() == name;
  std::optional<FileFormat> format = wish.format;
  std::vector<std::string> left_out;
  const std::string fixed = fixed_part_of(name);
  for (const std::string& match : matches) {
    std::error_code ignored;
    if (!fs::is_directory(match, ignored)) {
      const std::string rest = match.starts_with(fixed) ? match.substr(fixed.size()) : match;
      if (is_named || !is_beside_data(match)) {
        found.push_back({match, rest});
      } else {
        left_out.push_back(match);
      }
      continue;
    }
    is_named = false;
    if (!format) format = format_of_folder(match, wish.otherwise);
    for (Found& file : files_of_folder(match, endings_of(*format), wish)) found.push_back(std::move(file));
  }
  if (!left_out.empty())
    log::warn("data.files: these files of {} are left out, because they are no data: {}", name,
              names_of(left_out));
  D9D_REQUIRE(!found.empty(), "data.files: {} matches only files that are no data: {}", name,
              names_of(left_out));
  if (is_named) return found;
  require_once(found);
  const bool is_text =
      format.value_or(format_of_file(found.front().path, wish.otherwise)) == FileFormat::text;
  return of_split(std::move(found), {wish.split, name, is_text});
}

}  // namespace

DataFiles find_data_files(const FileWish& wish) {
  std::vector<std::string> paths;
  for (const std::string& name : wish.names) {
    for (Found& file : found_by(name, wish)) paths.push_back(std::move(file.path));
  }
  D9D_REQUIRE(!paths.empty(), "data.files is empty; name at least one file");
  const FileFormat format = wish.format ? *wish.format : format_of_all(paths, wish.otherwise);
  DataFiles files{std::move(paths), format};
  require_unpacked_tables(files);
  return files;
}

std::vector<std::string> expand_files(const std::vector<std::string>& files, const std::string& ending) {
  if (!ending.empty())
    return find_data_files({.names = files, .format = format_of_ending("x." + ending)}).paths;
  std::vector<std::string> out;
  for (const std::string& name : files) {
    const auto matches = matches_of(name);
    out.insert(out.end(), matches.begin(), matches.end());
  }
  D9D_REQUIRE(!out.empty(), "data.files is empty; name at least one file");
  return out;
}

}  // namespace d9d
