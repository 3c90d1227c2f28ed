#include "runtime/base/host/library_folder.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "runtime/base/host/torch_library.hpp"

namespace d9d {

std::string path_beside_this_library(const std::string& file) {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&path_beside_this_library), &here);
  std::error_code unknown;
  const auto library = std::filesystem::canonical(here.dli_fname == nullptr ? "" : here.dli_fname, unknown);
  return (library.parent_path() / file).string();
}

void* load_library(const std::string& path, const std::string& needed) {
  constexpr int stays = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  if (void* const library = dlopen(path.c_str(), stays)) return library;
  const std::string begin = loaded_torch().folder + "/../../" + needed;
  std::error_code unreadable;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(begin).parent_path(), unreadable)) {
    if (file.path().string().starts_with(begin)) dlopen(file.path().c_str(), stays);
  }
  return dlopen(path.c_str(), stays);
}

}  // namespace d9d
