#pragma once
// Assertions that the tests of this folder share.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/narrow.h>
#include <gmock/gmock.h>

#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {

inline bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && at::equal(a, b);
}

// 0, 1, 2, ... of that shape.
inline at::Tensor counting(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return at::arange(count, at::TensorOptions(at::kLong)).to(type).reshape(shape);
}

}  // namespace d9d::test
