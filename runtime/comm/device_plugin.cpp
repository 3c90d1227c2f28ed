#include "runtime/comm/device_plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/base/host/library_folder.hpp"
#include "runtime/device/device.hpp"

namespace d9d {

const char* device_plugin_build() {
  return __VERSION__ " torch 2.11.0 abi 6";
}

std::string device_plugin_path() {
  const char* const given = std::getenv("D9D_CUDA_PLUGIN");
  if (given != nullptr && *given != '\0') return given;
  return path_beside_this_library("libd9d_cuda.so");
}

DevicePlugin::DevicePlugin(const std::string& path) {
  D9D_REQUIRE(std::filesystem::exists(path),
              "this build has no CUDA plugin: {} does not exist; run `D9D_CUDA=1 bash .ci/deps` and build "
              "again, name it "
              "in D9D_CUDA_PLUGIN, or compute on the CPU: node.device: cpu, --device cpu",
              path);
  // Stays loaded: objects of its code may outlive every handle.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  D9D_REQUIRE(library != nullptr,
              "the CUDA plugin cannot be loaded: {}; `D9D_CUDA=1 bash .ci/deps` installs CUDA's libraries "
              "beside torch, "
              "or compute on the CPU: node.device: cpu, --device cpu",
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
