#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "kernels/graph/weight_work.hpp"

#include "tests/support/gradcheck.hpp"

using d9d::test::Tensors;
using d9d::test::values;

TEST(GroupedLinear, MultipliesEachGroupWithItsExpert) {
  const auto offsets = at::tensor({0, 4, 4, 9, 10}, at::kLong);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {d9d::kernels::grouped_linear(in[0], in[1], offsets)}; },
      [&](const Tensors& in) -> Tensors {
        Tensors parts;
        for (int64_t e = 0; e < 4; ++e) {
          const auto begin = offsets[e].item<int64_t>(), end = offsets[e + 1].item<int64_t>();
          parts.push_back(at::linear(in[0].narrow(0, begin, end - begin), in[1][e]));
        }
        return {at::cat(parts)};
      },
      {values({10, 11}, 1), values({4, 7, 11}, 2)});
}

TEST(GroupedLinear, AddsTheBiasOfEachExpertToItsRows) {
  const auto offsets = at::tensor({0, 0, 4, 9, 9}, at::kLong);  // none of the first and the last

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors {
        return {d9d::kernels::grouped_linear(in[0], in[1], offsets, in[2])};
      },
      [&](const Tensors& in) -> Tensors {
        return {at::cat({at::linear(in[0].narrow(0, 0, 4), in[1][1], in[2][1]),
                         at::linear(in[0].narrow(0, 4, 5), in[1][2], in[2][2])})};
      },
      {values({9, 11}, 1), values({4, 7, 11}, 2), values({4, 7}, 3)});
}

TEST(GroupedLinear, AddsTheGradientOfItsBiasToABufferInWeightWork) {
  const auto offsets = at::tensor({0, 3, 5}, at::kLong);
  const auto rows = values({5, 4}, 1, at::kFloat);
  const auto weight = values({2, 3, 4}, 2, at::kFloat);
  const auto bias = values({2, 3}, 3, at::kFloat).requires_grad_();
  const auto upstream = values({5, 3}, 4, at::kFloat);
  bias.mutable_grad() = at::ones({2, 3});
  const auto work = c10::make_intrusive<d9d::kernels::WeightWork>(d9d::kernels::WeightWork::Mode::deferred);
  const auto result = [&] {
    const d9d::kernels::WeightWork::Scope scope(work);
    return d9d::kernels::grouped_linear(rows, weight, offsets, bias);
  }();

  torch::autograd::backward({result}, {upstream});
  EXPECT_TRUE(bias.grad().equal(at::ones({2, 3})));
  work->run_queued();

  const auto expected = at::stack({upstream.narrow(0, 0, 3).sum(0), upstream.narrow(0, 3, 2).sum(0)}) + 1;
  EXPECT_TRUE(at::allclose(bias.grad(), expected, 1e-6, 1e-6));
}

TEST(GroupedLinear, NamesABiasOfOtherExperts) {
  const auto offsets = at::tensor({0, 4, 9}, at::kLong);

  EXPECT_THROW(
      d9d::kernels::grouped_linear(values({9, 3}, 1), values({2, 5, 3}, 2), offsets, values({5, 2}, 3)),
      c10::Error);
}

TEST(GroupedLinear, NamesOffsetsThatDoNotCoverTheRows) {
  const auto offsets = at::tensor({0, 4, 9}, at::kLong);

  EXPECT_THROW(d9d::kernels::grouped_linear(values({10, 3}, 1), values({2, 5, 3}, 2), offsets), c10::Error);
}
