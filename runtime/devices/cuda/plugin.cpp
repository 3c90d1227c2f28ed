// The C symbol of libd9d_cuda.so; see runtime/comm/device_plugin.hpp.
#include <c10/cuda/CUDAFunctions.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/run_op.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/comm/device_plugin_build.hpp"
#include "runtime/devices/cuda/cuda_device.hpp"
#include "runtime/devices/cuda/plugin_nccl.hpp"

namespace {

void register_ops() {
  d9d::kernels::register_ops(at::kCUDA, &d9d::cuda::op_table());
}

int num_devices() {
  return c10::cuda::device_count();
}

}  // namespace

extern "C" const d9d::DevicePluginApi* d9d_device_plugin() {
  static const d9d::DevicePluginApi api{.build = d9d::device_plugin_build,
                                        .num_devices = num_devices,
                                        .register_ops = register_ops,
                                        .nccl = d9d::cuda::nccl_of_this_build(),
                                        .make_device = d9d::cuda::make_device};
  return &api;
}
