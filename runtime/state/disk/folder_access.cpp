#include "runtime/state/disk/folder_access.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

// The path itself, or the nearest one above it that is there.
fs::path nearest_that_is(const fs::path& path) {
  std::error_code error;
  fs::path nearest = fs::absolute(path, error).lexically_normal();
  while (nearest.has_relative_path() &&
         fs::symlink_status(nearest, error).type() == fs::file_type::not_found) {
    nearest = nearest.parent_path();
  }
  return nearest;
}

[[noreturn]] void refuse(const std::string& folder, const std::string& key, const std::string& why) {
  throw Error(
      ErrorKind::environment,
      fmt::format("{} is {}, and nothing can be written there: {}. Mend that, or set {} to another folder",
                  key, folder, why, key));
}

}  // namespace

void require_may_write(const std::string& folder, const std::string& key) {
  const fs::path nearest = nearest_that_is(folder);
  std::error_code error;
  const fs::file_status status = fs::status(nearest, error);
  if (status.type() != fs::file_type::directory) {
    refuse(folder, key,
           error ? fmt::format("{}: {}", nearest.string(), error.message())
                 : fmt::format("{}: {}", nearest.string(), std::strerror(ENOTDIR)));
  }
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    refuse(folder, key, fmt::format("{}: {}", nearest.string(), std::strerror(errno)));
  }
}

}  // namespace d9d
