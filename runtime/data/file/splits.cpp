#include "runtime/data/file/splits.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t names_shown = 5;

std::string wanted_split(const std::string& split) {
  const auto known = split_of_name(split + ".x");
  return known ? *known : lower_case(split);
}

bool is_of_split(const Found& file, const std::string& split) {
  if (const auto own = split_of_name(file.name)) return *own == split;
  for (const fs::path& part : fs::path(lower_case(file.name))) {
    if (part == split || part.stem() == split || part.string().starts_with(split + "-")) return true;
  }
  return false;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return out;
}

std::string names_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), names_shown); ++i)
    out += (out.empty() ? "" : ", ") + names[i];
  return out + (names.size() > names_shown ? ", ..." : "");
}

std::optional<std::string> split_of_name(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> words{
      {"train", "train"},           {"training", "train"},   {"test", "test"},
      {"testing", "test"},          {"eval", "test"},        {"evaluation", "test"},
      {"validation", "validation"}, {"valid", "validation"}, {"val", "validation"},
      {"dev", "validation"}};
  const std::string text = lower_case(name);
  std::optional<std::string> of_folder;
  std::string word;
  // The file's own name comes last and counts most; its ending has none of these words.
  std::optional<std::string> found;
  for (const char letter : text + "/") {
    if (std::isalpha(static_cast<unsigned char>(letter))) {
      word += letter;
      continue;
    }
    const auto known = words.find(word);
    word.clear();
    if (known != words.end() && !found) found = known->second;
    if (letter == '/' && found) of_folder = std::exchange(found, std::nullopt);
  }
  return of_folder;
}

std::vector<Found> of_split(std::vector<Found> found, const SplitWish& wish) {
  std::map<std::string, std::vector<std::string>> splits;
  for (const Found& file : found) {
    if (const auto split = split_of_name(file.name)) splits[*split].push_back(file.path);
  }
  std::string there;
  for (const auto& [split, files] : splits) {
    there += fmt::format("{}{} ({})", there.empty() ? "" : ", ", split, files.front());
  }
  if (wish.split && *wish.split != all_splits) {
    const std::string split = wanted_split(*wish.split);
    std::erase_if(found, [&](const Found& file) { return !is_of_split(file, split); });
    D9D_REQUIRE(!found.empty(), "data.files: {} has no file of the split \"{}\"; there are {}", wish.name,
                *wish.split, there.empty() ? "none whose name tells a split" : there);
    log::info("data.files: {} of {}: the split \"{}\"", counted(found.size(), "file"), wish.name,
              *wish.split);
    return found;
  }
  if (splits.size() < 2 || wish.split) return found;
  if (!wish.is_text) {
    throw Error(
        ErrorKind::input,
        fmt::format("data.files: {} has files of several splits: {}; choose one with data.split, or all of "
                    "them with data.split: all",
                    wish.name, there));
  }
  log::warn("data.files: {} has files of several splits: {}; all are read, data.split chooses one", wish.name,
            there);
  return found;
}

}  // namespace d9d
