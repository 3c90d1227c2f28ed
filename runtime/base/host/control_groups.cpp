#include "runtime/base/host/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace d9d {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& line, char separator) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Where a hierarchy is mounted, and which of its groups is seen there.
struct Mount {
  fs::path place;
  std::string group;  // "/" where all are seen
  bool second = false;
};

// proc(5): ID PARENT DEVICE ROOT PLACE OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS
std::vector<Mount> mounts_with(const fs::path& root, const std::string& controller) {
  std::vector<Mount> mounts;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const auto words = words_of(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || std::distance(dash, words.end()) < 4) continue;
    const bool first = dash[1] == "cgroup" && has(words_of(dash[3], ','), controller);
    const bool second = dash[1] == "cgroup2";
    if (first || second) mounts.push_back({root / fs::path(words[4]).relative_path(), words[3], second});
  }
  return mounts;
}

// cgroups(7): ID:CONTROLLERS:GROUP, without controllers in version 2.
std::optional<std::string> group_of(const fs::path& root, const std::string& controller, bool second) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const auto words = words_of(line, ':');
    if (words.size() < 3) continue;
    if (second ? words[1].empty() : has(words_of(words[1], ','), controller)) return words[2];
  }
  return {};
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  for (const Mount& mount : mounts_with(root, controller)) {
    const auto group = group_of(root, controller, mount.second);
    if (!group) continue;
    // A container often sees its own group as the top folder, although the kernel reports the group's full name.
    fs::path below = fs::path(*group).relative_path();
    const fs::path seen = fs::path(mount.group).relative_path();
    const fs::path within = below.lexically_relative(seen.empty() ? "." : seen);
    if (!seen.empty()) below = within.empty() || *within.begin() == ".." ? fs::path() : within;
    for (fs::path at = (mount.place / below).lexically_normal();; at = at.parent_path()) {
      groups.push_back({at, mount.second});
      if (at == mount.place.lexically_normal() || at == at.parent_path()) break;
    }
  }
  return groups;
}

}  // namespace d9d
