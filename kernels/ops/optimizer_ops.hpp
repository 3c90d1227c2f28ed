#pragma once
// The ops of optimizers (optimizer.hpp, block_quantization.hpp) that each device implements. Their
// callers have checked shapes and dtypes.

#include <ATen/core/Tensor.h>

#include "kernels/ops/op.hpp"
#include "kernels/optimizer/stochastic_adamw_pass.hpp"

namespace d9d::kernels {

struct AdamWSettings {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  int64_t step;             // of this update, counted from 1
  double grad_scale = 1.0;  // the gradient is multiplied by this first
  bool zero_grad = false;   // leave the gradient buffer zeroed
};

// The values that a byte stands for (block_quantization.hpp).
enum class CodeBook { either_sign, positive };

struct OptimizerOps {
  Op<void(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
          const at::Tensor& exp_avg_sq, const AdamWSettings& settings)>
      adamw_step{"adamw_step"};
  // See stochastic_adamw.hpp. The same bits on every device.
  Op<void(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
          const at::Tensor& exp_avg_sq, const AdamWSettings& settings, const RoundingNoise& noise)>
      stochastic_adamw_step{"stochastic_adamw_step"};
  // See stochastic_copy.hpp. source fp32 and target bf16, contiguous. The same bits on every device.
  Op<void(const at::Tensor& source, const at::Tensor& target, const RandomKey& key, const BlockPlace& place)>
      stochastic_copy{"stochastic_copy"};
  // See block_quantization.hpp.
  Op<void(const at::Tensor& x, int64_t block, CodeBook book, const at::Tensor& codes,
          const at::Tensor& scales)>
      quantize_blocks{"quantize_blocks"};
  Op<void(const at::Tensor& codes, const at::Tensor& scales, int64_t block, CodeBook book,
          const at::Tensor& x)>
      dequantize_blocks{"dequantize_blocks"};
  // tensor fp32 or bf16, contiguous -> fp64 [1].
  Op<at::Tensor(const at::Tensor& tensor)> sum_of_squares{"sum_of_squares"};
};

}  // namespace d9d::kernels
