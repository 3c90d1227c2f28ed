#include "runtime/base/host/users_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "runtime/base/error.hpp"
#include "runtime/base/version.hpp"

namespace d9d {
namespace {

// After dlopen() has failed.
std::string why_not_loaded(const std::string& path) {
  const std::string said = dlerror();
  const std::string cause = said.starts_with(path + ": ") ? said.substr(path.size() + 2) : said;
  const bool found = !said.starts_with(path + ": cannot open shared object file: No such file");
  std::error_code ignored;
  if (!found && std::filesystem::exists(path, ignored))
    return fmt::format("a name without a slash is looked for on the system's paths; write ./{}", path);
  if (!found)
    return fmt::format("No such file; relative paths begin where d9d-node is started ({})",
                       std::filesystem::current_path(ignored).string());
  return cause + "; give a shared library that was built against this d9d (find_package(d9d))";
}

}  // namespace

void* open_users_library(const std::string& path) {
  return dlopen(path == this_program ? nullptr : path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* plugin_function(const std::string& path, const char* name) {
  void* library = open_users_library(path);
  if (library == nullptr) {
    throw Error(ErrorKind::input, fmt::format("cannot load the plugin {}: {}", path, why_not_loaded(path)));
  }
  return dlsym(library, name);
}

void require_same_headers(const std::string& path) {
  using Headers = const char* (*)();
  const auto headers = reinterpret_cast<Headers>(plugin_function(path, "d9d_plugin_headers"));
  D9D_REQUIRE(headers != nullptr,
              "the plugin {} does not say which d9d it was built against; build it with CMake and "
              "target_link_libraries(... d9d::d9d), or with the package's plugin_build.cpp among its sources",
              path);
  D9D_REQUIRE(
      headers() == headers_id(),
      "the plugin {} was built against d9d {}, this is {}; build it again, against the package of this "
      "d9d-node (find_package(d9d), CMAKE_PREFIX_PATH)",
      path, headers(), headers_id());
}

}  // namespace d9d
