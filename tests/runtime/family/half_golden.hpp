#pragma once
// Models in bfloat16 beside those of transformers: cases of tests/golden/bfloat16.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace d9d::test {

// The names of the cases.
const std::vector<std::string>& half_cases();

struct ErrorSize {
  double largest = 0;
  double rms = 0;  // root of the mean square
};
// Of all elements; in fp64.
ErrorSize error_size(const at::Tensor& found, const at::Tensor& truth);

// How far a model in bfloat16 is from fp64, as shares of what is allowed: of transformers' own distance, times a factor
// (origin.md). Near enough: none is above 1.
struct HalfDistance {
  double logits_rms = 0, logits_largest = 0;
  double losses_rms = 0, losses_largest = 0, mean_loss = 0;  // of the tokens that count
  bool same_experts = true;                                  // routers choose as in fp64

  double largest() const;
};
// Runs the case in bfloat16 on the device.
HalfDistance half_distance(const std::string& name, at::Device device);
void expect_as_near_as_transformers(const std::string& name, at::Device device);

}  // namespace d9d::test
