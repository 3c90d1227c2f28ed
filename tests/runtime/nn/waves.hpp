#pragma once
// Numbers without a pattern that a mistake in order would leave as it is.

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

namespace d9d::test {

// fp64. Other phases give other numbers.
inline at::Tensor waves(at::IntArrayRef shape, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::arange(count, at::kDouble).mul(0.7).add(phase).sin().view(shape);
}

}  // namespace d9d::test
