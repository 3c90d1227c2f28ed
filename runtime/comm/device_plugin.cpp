#include "runtime/comm/device_plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/base/host/library_folder.hpp"
#include "runtime/comm/device_plugin_build.hpp"
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

struct LibraryNames {
  const char* file;
  const char* variable;
  const char* plugin;       // in errors
  const char* where_from;   // what to do if it is missing,
  const char* how_to_mend;  // or does not load
};

constexpr LibraryNames cuda_names{"libd9d_cuda.so", "D9D_CUDA_PLUGIN", "CUDA plugin",
                                  "run `D9D_CUDA=1 bash .ci/deps` and build again",
                                  "`D9D_CUDA=1 bash .ci/deps` installs CUDA's libraries beside torch"};
constexpr LibraryNames delayed_names{"libd9d_delayed.so", "D9D_DELAYED_PLUGIN", "plugin of delayed devices",
                                     "build or install d9d again, which puts it beside libd9d.so",
                                     "build or install it together with libd9d.so"};

const LibraryNames& library_names(DeviceLibrary library) {
  return library == DeviceLibrary::cuda ? cuda_names : delayed_names;
}

}  // namespace

std::string device_plugin_path(DeviceLibrary library) {
  const LibraryNames& names = library_names(library);
  const char* const given = std::getenv(names.variable);
  if (given != nullptr && *given != '\0') return given;
  return path_beside_this_library(names.file);
}

DevicePlugin::DevicePlugin(DeviceLibrary which) {
  const LibraryNames& names = library_names(which);
  const std::string path = device_plugin_path(which);
  D9D_REQUIRE(std::filesystem::exists(path),
              "this build has no {}: {} does not exist; {}, name it in {}, or compute on the CPU: "
              "node.device: cpu, --device cpu",
              names.plugin, path, names.where_from, names.variable);
  // Stays loaded: objects of its code may outlive every handle.
  void* const library = load_library(path, "torch/lib/libtorch_cuda.so");
  D9D_REQUIRE(library != nullptr,
              "the {} cannot be loaded: {}; {}, or compute on the CPU: node.device: cpu, --device cpu",
              names.plugin, dlerror(), names.how_to_mend);
  using Entry = const DevicePluginApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "d9d_device_plugin"));
  D9D_REQUIRE(entry != nullptr, "{} is not a {} of d9d", path, names.plugin);
  const DevicePluginApi* const api = entry();
  D9D_REQUIRE(std::strcmp(api->build, device_plugin_build) == 0,
              "the {} {} is of build \"{}\", this program of \"{}\"; build both together", names.plugin, path,
              api->build, device_plugin_build);
  api_ = api;
  api_->register_ops();
}

std::shared_ptr<Device> DevicePlugin::device(int index) const {
  return keep_device(api_->make_device(index));
}

const nccl::Api& DevicePlugin::nccl() const {
  D9D_REQUIRE(
      api_->nccl != nullptr,
      "this build's CUDA plugin has no NCCL: nccl.h was not found; run `D9D_CUDA=1 bash .ci/deps` and "
      "build again");
  return *api_->nccl;
}

}  // namespace d9d
