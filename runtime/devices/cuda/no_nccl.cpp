// Where nccl.h is missing.
#include "runtime/devices/cuda/plugin_nccl.hpp"

namespace d9d::cuda {

const nccl::Api* nccl_of_this_build() {
  return nullptr;
}

}  // namespace d9d::cuda
