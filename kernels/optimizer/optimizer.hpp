#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/ops/optimizer_ops.hpp"

namespace d9d::kernels {

// One AdamW update (Loshchilov and Hutter 2019, algorithm 2, in the order of torch.optim.AdamW) in one pass
// over four flat contiguous fp32 buffers of one length; all but grad are updated in place. No autograd.
void adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq, const AdamWSettings& settings);

// Returns the sum of the squares of a contiguous fp32 or bf16 tensor, fp64 [1] on its device. Blocks
// of fixed size are summed in fp32 lanes and added in fp64 in order, so the result does not depend on
// the number of threads.
at::Tensor sum_of_squares(const at::Tensor& tensor);

}  // namespace d9d::kernels
