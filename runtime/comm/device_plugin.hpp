#pragma once
// Libraries that bring devices. One is loaded when a job asks for its devices, so that the same program runs on a host
// without it. No torch in this header.

#include <memory>
#include <string>

namespace d9d {

class Device;

namespace nccl {
struct Api;
}

// What the library's C function `d9d_device_plugin` returns a pointer to.
// Program and plugin must be of the same build: `build` must be equal (device_plugin_build.hpp).
struct DevicePluginApi {
  const char* build = "";
  int (*num_devices)() = nullptr;
  // Registers the op table of the devices (kernels/run_op.hpp). May be called again.
  void (*register_ops)() = nullptr;
  const nccl::Api* nccl = nullptr;  // null where the build had no nccl.h
  std::shared_ptr<Device> (*make_device)(int index) = nullptr;
};

enum class DeviceLibrary { cuda, delayed };  // libd9d_cuda.so, libd9d_delayed.so

// Where the library is looked for: $D9D_CUDA_PLUGIN or $D9D_DELAYED_PLUGIN, else beside libd9d.so.
std::string device_plugin_path(DeviceLibrary library);

class DevicePlugin {
 public:
  // Loads the library and registers its op table, both for the life of the process: ops on tensors of its
  // devices work from then on. To be done before the first tensor is differentiated, because torch's autograd asks
  // only once whether there is CUDA. Input error when there is no such library, the libraries that it needs are
  // missing, or it is of another build; it says which, and what to do.
  explicit DevicePlugin(DeviceLibrary library);

  int num_devices() const { return api_->num_devices(); }
  // What a rank computes on, by its index among those that the process sees; the same one for each call.
  // Environment error: the process does not see so many.
  std::shared_ptr<Device> device(int index) const;
  // For runtime/comm/nccl. Input error where the plugin was built without NCCL.
  const nccl::Api& nccl() const;

 private:
  const DevicePluginApi* api_ = nullptr;
};

}  // namespace d9d
