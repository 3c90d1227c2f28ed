// Where nccl.h is there.
#include "kernels/cuda/nccl_communicator.hpp"
#include "kernels/cuda/plugin_nccl.hpp"

namespace d9d::cuda {

OpenNccl nccl_of_this_build() {
  return &open_nccl;
}

}  // namespace d9d::cuda
