#include "runtime/comm/device_plugin.hpp"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {

const char* device_plugin_build() {
  return __VERSION__ " torch 2.11.0 abi 2";
}

DevicePlugin::DevicePlugin(const std::string& path) {
  D9D_REQUIRE(
      std::filesystem::exists(path),
      "this build has no CUDA plugin: {} does not exist; build on a host with nvcc, or set node.device: cpu",
      path);
  // Stays loaded: objects of its code may outlive every handle.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  D9D_REQUIRE(library != nullptr,
              "the CUDA plugin cannot be loaded: {}; is CUDA's lib64 folder in LD_LIBRARY_PATH? Or set "
              "node.device: cpu",
              dlerror());
  using Entry = const DevicePluginApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "d9d_device_plugin"));
  D9D_REQUIRE(entry != nullptr, "{} is not a CUDA plugin of d9d", path);
  const DevicePluginApi* const api = entry();
  D9D_REQUIRE(std::strcmp(api->build, device_plugin_build()) == 0,
              "the CUDA plugin {} is of build \"{}\", this program of \"{}\"; build both together", path,
              api->build, device_plugin_build());
  api_ = api;
  api_->register_ops();
}

std::unique_ptr<Communicator> DevicePlugin::open_nccl(const Group& group, const std::string& folder,
                                                      int device, std::chrono::milliseconds timeout) const {
  D9D_REQUIRE(
      api_->open_nccl != nullptr,
      "this build's CUDA plugin has no NCCL: nccl.h was not found; install NCCL's headers and build again");
  return api_->open_nccl(group, folder, device, timeout);
}

}  // namespace d9d
