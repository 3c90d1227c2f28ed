#pragma once
// The op table of CUDA devices.

#include "kernels/ops/table.hpp"

namespace d9d::cuda {

// Has matmul, rms_norm, rms_norm_dx, rms_norm_dw, silu_mul, silu_mul_backward, adamw_step and sum_of_squares: matmul for
// fp32, bf16 and fp64, the others for fp32 and bf16. Kernels are enqueued on the current stream of the tensors' device.
const kernels::OpTable& op_table();

// Parts of it.
void add_matmul(kernels::OpTable& table);
void add_optimizer(kernels::OpTable& table);

}  // namespace d9d::cuda
