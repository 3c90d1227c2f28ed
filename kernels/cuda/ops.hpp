#pragma once
// The op table of CUDA devices.

#include "kernels/ops/table.hpp"

namespace d9d::cuda {

// Has rms_norm, rms_norm_dx, rms_norm_dw, silu_mul and silu_mul_backward, for fp32 and bf16. Kernels are
// enqueued on the current stream of the tensors' device.
const kernels::OpTable& op_table();

}  // namespace d9d::cuda
