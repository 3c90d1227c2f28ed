#pragma once
// libd9d_cuda.so: what a build with CUDA adds. It is loaded when a job asks for `device: cuda`, so that the
// same program runs on a host without it. No torch in this header.

#include <chrono>
#include <memory>
#include <string>

#include "runtime/mesh/plan.hpp"

namespace d9d {

class Communicator;

// The library's C function `d9d_device_plugin` returns a pointer to this.
// Program and plugin must be of the same build: `build` must be equal.
struct DevicePluginApi {
  const char* build = "";
  int (*num_devices)() = nullptr;
  // Registers the op table of CUDA devices (kernels/run_op.hpp). May be called again.
  void (*register_ops)() = nullptr;
  std::unique_ptr<Communicator> (*open_nccl)(const Group& group, const std::string& folder, int device,
                                             std::chrono::milliseconds timeout) = nullptr;
};
// Of this program.
const char* device_plugin_build();

class DevicePlugin {
 public:
  // Loads the library and registers its op table, both for the life of the process: ops on tensors of CUDA
  // devices work from then on. Input error when this build has no such plugin, the libraries of CUDA are
  // missing, or the plugin is of another build; it says which, and what to do.
  explicit DevicePlugin(const std::string& path);

  int num_devices() const { return api_->num_devices(); }
  // Waits until all members have opened the group. They find each other by a file in `folder`, which all
  // of them see; `group.name` must not have been used with it before. `device`: index of the GPU of this
  // rank. NCCL's own connections are not protected. Input error where the plugin was built without NCCL.
  std::unique_ptr<Communicator> open_nccl(const Group& group, const std::string& folder, int device,
                                          std::chrono::milliseconds timeout) const;

 private:
  const DevicePluginApi* api_ = nullptr;
};

}  // namespace d9d
