#include "runtime/train/optimizer/newton_schulz.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

TEST(NewtonSchulz, MovesSingularValuesTowardsOne) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{6, 6}, {4, 30}, {30, 4}}) {
    const at::Tensor matrix = at::eye(shape[0], shape[1]) * 3 + wave("m", shape) * 0.5;
    const at::Tensor near = orthogonalized(matrix, 5);
    const at::Tensor gram = shape[0] < shape[1] ? at::mm(near, near.t()) : at::mm(near.t(), near);

    // Squares of singular values; their mean is the trace over the smaller dimension.
    const double mean = gram.trace().item<double>() / static_cast<double>(std::min(shape[0], shape[1]));
    EXPECT_GT(mean, 0.6) << shape[0];
    EXPECT_LT(mean, 1.3) << shape[0];
  }
  EXPECT_TRUE(at::equal(orthogonalized(at::zeros({3, 4}), 5), at::zeros({3, 4})));
}

}  // namespace
}  // namespace d9d
