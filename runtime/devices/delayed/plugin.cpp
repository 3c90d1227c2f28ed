// The C symbol of libd9d_delayed.so; see runtime/comm/device_plugin.hpp.
#include "runtime/comm/device_plugin.hpp"
#include "runtime/comm/device_plugin_build.hpp"
#include "runtime/devices/delayed/backend.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/nccl/emulated.hpp"

extern "C" const d9d::DevicePluginApi* d9d_device_plugin() {
  static const d9d::DevicePluginApi api{.build = d9d::device_plugin_build,
                                        .num_devices = [] { return d9d::delayed::max_devices; },
                                        .register_ops = d9d::delayed::install,
                                        .nccl = &d9d::nccl::emulated_nccl(),
                                        .make_device = d9d::delayed_device};
  return &api;
}
