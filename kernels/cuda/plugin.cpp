// The C symbol of libd9d_cuda.so; see runtime/comm/device_plugin.hpp.
#include <c10/cuda/CUDAFunctions.h>

#include <cstdlib>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/plugin_nccl.hpp"
#include "kernels/run_op.hpp"

namespace {

void register_ops() {
  // c10d's watchdog would end the process when a collective fails; here the job decides what follows.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2", 0);
  d9d::kernels::register_ops(at::kCUDA, &d9d::cuda::op_table());
}

int num_devices() {
  return c10::cuda::device_count();
}

}  // namespace

extern "C" const d9d::DevicePluginApi* d9d_device_plugin() {
  static const d9d::DevicePluginApi api{.build = d9d::device_plugin_build(),
                                        .num_devices = num_devices,
                                        .register_ops = register_ops,
                                        .open_nccl = d9d::cuda::nccl_of_this_build()};
  return &api;
}
