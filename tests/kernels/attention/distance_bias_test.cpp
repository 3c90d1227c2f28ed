// Mod32. What transformers computes is in tests/golden/position_bias.
#include "kernels/attention/distance_bias.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/graph/weight_work.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels {
namespace {

using test::Tensors;
using test::values;

// The paper's figure 3: of 8 heads 1/2, 1/4, .. 1/256; of 16 each second is one of those.
TEST(Alibi, Mod32HasTheSlopesOfThePaper) {
  const std::vector<double> eight = alibi_slopes(8), sixteen = alibi_slopes(16);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(eight[i], std::ldexp(1.0, -static_cast<int>(i) - 1));
    EXPECT_EQ(sixteen[2 * i + 1], eight[i]);
  }
  EXPECT_DOUBLE_EQ(sixteen[0], std::sqrt(0.5));
}

at::Tensor one_hot(std::int64_t buckets, std::int64_t width, at::ScalarType dtype) {
  const at::Tensor all = at::zeros({buckets, width}, dtype);
  for (std::int64_t w = 0; w < width; ++w) all[distance_bucket(w - width / 2, buckets, 9, true)][w] = 1;
  return all;
}

TEST(BucketedBias, GradientsAreCentralDifferencesThroughAttention) {
  test::gradcheck(
      [](const Tensors& in) -> Tensors {
        const at::Tensor bias = bucketed_bias(in[3], one_hot(8, 13, at::kDouble));
        return {attention(in[0], in[1], in[2], full_mask, 0.5, {}, {}, {bias, true})};
      },
      {values({2, 7, 2, 3}, 1), values({2, 7, 1, 3}, 2), values({2, 7, 1, 3}, 3), values({8, 2}, 4)});
}

TEST(BucketedBias, IsFloat32OfATableInBfloat16) {
  const at::Tensor table = values({8, 2}, 4).to(at::kBFloat16).requires_grad_();

  const at::Tensor bias = bucketed_bias(table, one_hot(8, 13, at::kFloat));
  bias.sum().backward();

  EXPECT_EQ(bias.scalar_type(), at::kFloat);
  EXPECT_EQ(bias.sizes(), at::IntArrayRef({1, 2, 1, 13}));
  EXPECT_EQ(table.grad().sum().item<double>(), 26);
  EXPECT_ANY_THROW(bucketed_bias(table, one_hot(8, 13, at::kDouble)));
  EXPECT_ANY_THROW(bucketed_bias(table, one_hot(6, 13, at::kFloat)));
}

TEST(BucketedBias, AddsItsGradientAsWeightWork) {
  const at::Tensor plain = values({8, 2}, 4).requires_grad_(), direct = values({8, 2}, 4).requires_grad_();
  direct.mutable_grad() = at::ones({8, 2}, at::kDouble);
  const auto train = [&](const at::Tensor& table) {
    bucketed_bias(table, one_hot(8, 13, at::kDouble)).square().sum().backward();
  };

  train(plain);
  const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  {
    const WeightWork::Scope scope(work);
    train(direct);
  }

  EXPECT_EQ(work->pending(), 1U);
  work->run_queued();
  EXPECT_TRUE((direct.grad() - 1).allclose(plain.grad()));
}

}  // namespace
}  // namespace d9d::kernels
