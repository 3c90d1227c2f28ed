#pragma once
// The arithmetic of low-rank adapters, with the formulas and names of lora.hpp. Sums are fp32 (fp64 for
// fp64), without gradients. The factors may be a rank's blocks.

#include <ATen/core/Tensor.h>

#include "runtime/peft/lora_config.hpp"

namespace d9d {

// Returns s.
double scale_of(const LoraParameters& params);

// Return |W| and |W + s B A|, the length of each row: [.., out], in the dtype of the sum.
at::Tensor row_lengths(const at::Tensor& weight);
at::Tensor row_lengths(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale);

// Returns W + s B A in the dtype of the sum. If m is defined, each row is then scaled to the length m.
at::Tensor merged_sum(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale,
                      const at::Tensor& magnitudes = {});
// Returns the same, rounded once to the weight's dtype.
at::Tensor merged_weight(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale,
                         const at::Tensor& magnitudes = {});

}  // namespace d9d
