#include "runtime/base/host/users_library.hpp"

#include <dlfcn.h>

namespace d9d {

void* open_users_library(const std::string& path) {
  return dlopen(path == this_program ? nullptr : path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace d9d
