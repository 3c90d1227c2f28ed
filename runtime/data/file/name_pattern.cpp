#include "runtime/data/file/name_pattern.hpp"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/host/home_path.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

constexpr const char* any_folders = "**";
constexpr std::int64_t range_max = 1'000'000;

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

std::string with_home(const std::string& name) {
  if (!name.starts_with('~')) return name;
  const std::string path = expanded_path(name);
  D9D_REQUIRE(!path.starts_with('~'), "data.files: {}: there is no home folder for {}; write the whole path",
              name, name.substr(0, name.find('/')));
  return path;
}

struct Brace {
  std::size_t begin, end;  // of { and }
  std::vector<std::string> items;
};

// "00..15": as wide as the wider of both where one of them begins with a zero.
std::vector<std::string> items_of_range(const std::string& inside) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string::npos) return {};
  const std::string first = inside.substr(0, dots), last = inside.substr(dots + 2);
  const auto is_digits = [](const std::string& text) {
    return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_digits(first) || !is_digits(last)) return {};
  const std::int64_t begin = std::stoll(first), end = std::stoll(last);
  if (end < begin || end - begin > range_max) return {};
  const bool padded = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const std::size_t width = padded ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> items;
  for (std::int64_t i = begin; i <= end; ++i) items.push_back(fmt::format("{:0{}}", i, width));
  return items;
}

// The first brace with several items, which may have braces themselves.
std::optional<Brace> brace_in(const std::string& name) {
  for (std::size_t begin = name.find('{'); begin != std::string::npos; begin = name.find('{', begin + 1)) {
    Brace brace{begin, 0, {}};
    std::size_t depth = 0, item = begin + 1;
    for (std::size_t i = begin; i < name.size() && brace.end == 0; ++i) {
      if (name[i] == '{') ++depth;
      if ((name[i] == ',' && depth == 1) || (name[i] == '}' && depth == 1)) {
        brace.items.push_back(name.substr(item, i - item));
        item = i + 1;
      }
      if (name[i] == '}' && --depth == 0) brace.end = i;
    }
    if (brace.end == 0) continue;
    if (brace.items.size() == 1) brace.items = items_of_range(brace.items.front());
    if (!brace.items.empty()) return brace;
  }
  return std::nullopt;
}

std::vector<std::string> without_braces(const std::string& name) {
  const auto brace = brace_in(name);
  if (!brace) return {name};
  std::vector<std::string> out;
  for (const std::string& item : brace->items) {
    const auto more = without_braces(name.substr(0, brace->begin) + item + name.substr(brace->end + 1));
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

// Walks down the folders that the parts of a pattern name.
class Walk {
 public:
  explicit Walk(const std::string& pattern) : pattern_(pattern) {
    std::string part;
    for (const char letter : pattern + "/") {
      if (letter != '/') {
        part += letter;
      } else if (!part.empty()) {
        D9D_REQUIRE(part == any_folders || part.find(any_folders) == std::string::npos,
                    "data.files: {}: ** stands for folders, alone between slashes, as in d/**/*.jsonl",
                    pattern);
        parts_.push_back(std::exchange(part, {}));
      }
    }
  }

  std::vector<std::string> matches() {
    descend(pattern_.starts_with('/') ? "/" : "", 0);
    std::ranges::sort(found_);
    const auto again = std::ranges::unique(found_);
    found_.erase(again.begin(), again.end());
    return std::move(found_);
  }

 private:
  void descend(const std::string& folder, std::size_t next) {
    if (next == parts_.size()) {
      found_.push_back(folder.size() > 1 ? folder.substr(0, folder.size() - 1) : folder);
      return;
    }
    const std::string& part = parts_[next];
    if (part == any_folders) return descend_anywhere(folder, next);
    if (!has_wildcard(part) || exists(folder + part)) {
      if (exists(folder + part)) descend(folder + part + "/", next + 1);
      return;
    }
    for (const std::string& name : names_in(folder)) {
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) descend(folder + name + "/", next + 1);
    }
  }

  // With ** as the last part: all that is no folder.
  void descend_anywhere(const std::string& folder, std::size_t next) {
    const bool is_last = next + 1 == parts_.size();
    if (!is_last) descend(folder, next + 1);
    struct stat status {};
    if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
    const std::pair here{status.st_dev, status.st_ino};
    if (std::ranges::find(above_, here) != above_.end()) return;  // a link to a folder above
    above_.push_back(here);
    for (const std::string& name : names_in(folder)) {
      if (name.starts_with('.')) continue;
      std::error_code ignored;
      if (fs::is_directory(folder + name, ignored)) {
        descend_anywhere(folder + name + "/", next);
      } else if (is_last) {
        found_.push_back(folder + name);
      }
    }
    above_.pop_back();
  }

  std::vector<std::string> names_in(const std::string& folder) const {
    std::error_code error;
    std::vector<std::string> names;
    const fs::path path = folder.empty() ? "." : folder;
    if (!fs::is_directory(path, error)) return names;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    D9D_REQUIRE(!error, "data.files: {}: cannot look into {}: {}", pattern_, path.string(), error.message());
    return names;
  }

  const std::string pattern_;
  std::vector<std::string> parts_;
  std::vector<std::string> found_;
  std::vector<std::pair<dev_t, ino_t>> above_;
};

}  // namespace

std::vector<std::string> matches_of(const std::string& name) {
  if (exists(name)) return {name};
  const std::string whole = with_home(name);
  if (exists(whole)) return {whole};
  const std::vector<std::string> items = without_braces(whole);
  std::vector<std::string> out;
  for (const std::string& item : items) {
    if (items.size() == 1 && !has_wildcard(item)) return items;  // opening it is the better error
    std::vector<std::string> found = exists(item) ? std::vector{item} : Walk(item).matches();
    if (found.empty() && items.size() > 1)
      throw Error(ErrorKind::input, fmt::format("data.files: nothing matches {}, an item of {}", item, name));
    D9D_REQUIRE(!found.empty(), "data.files: nothing matches {}", name);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::string fixed_part_of(const std::string& name) {
  const std::string pattern = name.starts_with('~') && !exists(name) ? with_home(name) : name;
  const std::size_t special = pattern.find_first_of("*?[{");
  const std::size_t slash = pattern.rfind('/', special);
  return slash == std::string::npos ? "" : pattern.substr(0, slash + 1);
}

}  // namespace d9d
