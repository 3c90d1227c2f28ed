// Where CUPTI is missing: its header or its library.
#include "runtime/devices/cuda/kernel_log.hpp"

namespace d9d::cuda {

std::string log_kernels(int /*gpu*/, bool /*on*/) {
  return "d9d was built where CUPTI was missing; install nvidia-cuda-cupti (.ci/deps) and build again";
}

std::vector<KernelRun> take_kernels(int /*gpu*/, const RoleStreams& /*streams*/) {
  return {};
}

}  // namespace d9d::cuda
