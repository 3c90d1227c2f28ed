#pragma once
// The arithmetic of low-rank adapters; formulas and names as in lora.hpp. Sums are taken in fp32 (fp64 for
// fp64) and without gradients. The factors may be a rank's blocks.

#include <ATen/core/Tensor.h>

#include "runtime/peft/lora_config.hpp"

namespace d9d {

// s
double scale_of(const LoraParameters& params);

// |W| and |W + s B A|, the length of each row, of shape [.., out] and the dtype of the sum.
at::Tensor row_lengths(const at::Tensor& weight);
at::Tensor row_lengths(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale);

// W + s B A, rounded once to the weight's dtype; where m is defined, each row in the length that m says.
at::Tensor merged_weight(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale,
                         const at::Tensor& magnitudes = {});

}  // namespace d9d
