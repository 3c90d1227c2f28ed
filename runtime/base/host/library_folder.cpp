#include "runtime/base/host/library_folder.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace d9d {

std::string path_beside_this_library(const std::string& file) {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&path_beside_this_library), &here);
  std::error_code unknown;
  const auto library = std::filesystem::canonical(here.dli_fname == nullptr ? "" : here.dli_fname, unknown);
  return (library.parent_path() / file).string();
}

}  // namespace d9d
