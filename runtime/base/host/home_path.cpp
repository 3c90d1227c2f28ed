#include "runtime/base/host/home_path.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Of this user without a name.
std::optional<std::string> home_of(const std::string& user) {
  if (user.empty()) {
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return home;
  }
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> text{};
  const int trouble = user.empty() ? ::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found)
                                   : ::getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found);
  if (trouble != 0 || found == nullptr || *found->pw_dir == '\0') return {};
  return found->pw_dir;
}

bool begins_with_variable(std::string_view name) {
  if (name.size() < 2 || name[0] != '$') return false;
  const auto next = static_cast<unsigned char>(name[1]);
  return next == '{' || next == '_' || std::isalpha(next) != 0;
}

// Whether a name in the path is a variable's. One that is there is a file's own name, and so is each after `./`.
bool has_variable(const std::string& path) {
  if (path.starts_with("./")) return false;
  for (std::size_t begin = 0, end = 0; end < path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    std::error_code hidden;
    if (begins_with_variable(std::string_view(path).substr(begin, end - begin)) &&
        (begin == 0 || !std::filesystem::exists(path.substr(0, end), hidden)))
      return true;
  }
  return false;
}

}  // namespace

std::string expanded_path(const std::string& path) {
  D9D_REQUIRE(!has_variable(path),
              "{}: variables are not replaced here; write the path out, begin it with ~/, or have the shell "
              "replace it: --set \"key=$HOME/...\". A file whose own name begins so is ./{}",
              path, path);
  if (!path.starts_with("~")) return path;
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string user = path.substr(1, end - 1);
  const auto home = home_of(user);
  D9D_REQUIRE(home || !user.empty(), "{}: no home folder is known, HOME is not set; write the path out",
              path);
  return home ? *home + path.substr(end) : path;
}

}  // namespace d9d
