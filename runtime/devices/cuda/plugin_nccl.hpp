#pragma once
// NCCL's and CUDA's functions for runtime/comm/nccl; CMake chooses nccl_api.cpp or no_nccl.cpp.

#include "runtime/comm/nccl/api.hpp"

namespace d9d::cuda {

// Null where nccl.h was missing.
const nccl::Api* nccl_of_this_build();

}  // namespace d9d::cuda
