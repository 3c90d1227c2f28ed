#include "kernels/norm.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::Tensors;
using d9d::test::values;

namespace {

at::Tensor reference_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return x * (x.pow(2).mean(-1, true) + eps).rsqrt() * weight;
}

Tensors norm(const Tensors& in) {
  return {d9d::kernels::rms_norm(in[0], in[1], 1e-6)};
}

Tensors add_norm(const Tensors& in) {
  const auto [normed, sum] = d9d::kernels::add_rms_norm(in[0], in[1], in[2], 1e-6);
  return {normed, sum};
}

at::Tensor reference_layer_norm(const at::Tensor& x, const at::Tensor& weight) {
  return at::layer_norm(x, {x.size(-1)}, weight, {}, 1e-5);
}

Tensors layer(const Tensors& in) {
  return {d9d::kernels::layer_norm(in[0], in[1], 1e-5)};
}

Tensors layer_reference(const Tensors& in) {
  return {reference_layer_norm(in[0], in[1])};
}

Tensors add_layer(const Tensors& in) {
  const auto [normed, sum] = d9d::kernels::add_layer_norm(in[0], in[1], in[2], 1e-5);
  return {normed, sum};
}

}  // namespace

TEST(RmsNorm, MatchesTheFormulaOnOddSizes) {
  for (const int64_t width : {2, 3, 16, 37, 256}) {
    d9d::test::expect_matches_in_every_dtype(
        norm, [](const Tensors& in) -> Tensors { return {reference_norm(in[0], in[1], 1e-6)}; },
        {values({5, 3, width}, 1), values({width}, 2)});
  }
}

TEST(RmsNorm, TakesStridedRows) {
  const auto wide = values({6, 40}, 1);

  d9d::test::expect_matches_in_every_dtype(
      norm, [](const Tensors& in) -> Tensors { return {reference_norm(in[0], in[1], 1e-6)}; },
      {wide.narrow(1, 3, 17), values({17}, 2)});
}

TEST(RmsNorm, ZeroCenteredAddsOneToTheWeight) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors { return {d9d::kernels::rms_norm(in[0], in[1], 1e-5, true)}; },
      [](const Tensors& in) -> Tensors { return {reference_norm(in[0], in[1] + 1, 1e-5)}; },
      {values({300, 19}, 1), values({19}, 2)});
}

TEST(RmsNorm, OfASumAddsOneToTheWeightToo) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors {
        const auto [normed, sum] = d9d::kernels::add_rms_norm(in[0], in[1], in[2], 1e-6, true);
        return {normed, sum};
      },
      [](const Tensors& in) -> Tensors {
        const auto sum = in[0] + in[1];
        return {reference_norm(sum, in[2] + 1, 1e-6), sum};
      },
      {values({9, 2, 33}, 1), values({9, 2, 33}, 2), values({33}, 3)});
}

TEST(RmsNorm, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(norm, {values({4, 7}, 1), values({7}, 2)});
  d9d::test::gradcheck(add_norm, {values({3, 5}, 1), values({3, 5}, 2), values({5}, 3)});
}

TEST(RmsNorm, OfASumReturnsTheSumToo) {
  d9d::test::expect_matches_in_every_dtype(add_norm,
                                           [](const Tensors& in) -> Tensors {
                                             const auto sum = in[0] + in[1];
                                             return {reference_norm(sum, in[2], 1e-6), sum};
                                           },
                                           {values({9, 2, 33}, 1), values({9, 2, 33}, 2), values({33}, 3)});
}

// The numbers of a model must not depend on where its layers are cut.
TEST(RmsNorm, OfASumIsBitForBitThatOfTheTensorAddedBefore) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (int64_t width = 1; width < 140; width += width < 40 ? 1 : 7) {
      SCOPED_TRACE(c10::str(dtype, " ", width));
      const auto leaf = [&](at::IntArrayRef shape, int seed) {
        return values(shape, seed).to(dtype).detach().requires_grad_(true);
      };
      const auto x = leaf({3, width}, 1), residual = leaf({3, width}, 2), weight = leaf({width}, 3);
      const auto dy = values({3, width}, 4).to(dtype), dsum = values({3, width}, 5).to(dtype);
      const auto run = [&](bool before) -> Tensors {
        const auto [normed, sum] = before
                                       ? d9d::kernels::add_rms_norm(x + residual, at::Tensor(), weight, 1e-6)
                                       : d9d::kernels::add_rms_norm(x, residual, weight, 1e-6);
        const auto grads = torch::autograd::grad({normed, sum}, {x, residual, weight}, {dy, dsum});
        return {normed, sum, grads[0], grads[1], grads[2]};
      };

      const Tensors fused = run(false), apart = run(true);

      for (std::size_t i = 0; i < fused.size(); ++i)
        EXPECT_TRUE(at::equal(fused[i], apart[i])) << "tensor " << i;
    }
  }
}

TEST(RmsNorm, HasNoRowsWhenThereAreNone) {
  d9d::test::expect_matches_in_every_dtype(
      norm, [](const Tensors& in) -> Tensors { return {reference_norm(in[0], in[1], 1e-6)}; },
      {values({0, 8}, 1), values({8}, 2)});
}

TEST(RmsNorm, NamesTheShapesThatDoNotFit) {
  EXPECT_THROW(d9d::kernels::rms_norm(values({4, 8}, 1), values({7}, 2), 1e-6), c10::Error);
}

TEST(LayerNorm, IsTorchsOnOddSizes) {
  for (const int64_t width : {2, 3, 16, 37, 256})
    d9d::test::expect_matches_in_every_dtype(layer, layer_reference,
                                             {values({5, 3, width}, 1), values({width}, 2)});
}

TEST(LayerNorm, TakesStridedRowsAndRowsFarFromZero) {
  const auto wide = values({6, 40}, 1);

  d9d::test::expect_matches_in_every_dtype(layer, layer_reference, {wide.narrow(1, 3, 17), values({17}, 2)});
  d9d::test::expect_matches(layer, layer_reference, {wide + 100, values({40}, 2)}, at::kDouble);
}

TEST(LayerNorm, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(layer, {values({4, 7}, 1), values({7}, 2)});
  d9d::test::gradcheck(add_layer, {values({3, 5}, 1), values({3, 5}, 2), values({5}, 3)});
}

TEST(LayerNorm, OfASumReturnsTheSumToo) {
  d9d::test::expect_matches_in_every_dtype(add_layer,
                                           [](const Tensors& in) -> Tensors {
                                             const auto sum = in[0] + in[1];
                                             return {reference_layer_norm(sum, in[2]), sum};
                                           },
                                           {values({9, 2, 33}, 1), values({9, 2, 33}, 2), values({33}, 3)});
}

TEST(LayerNorm, HasNoRowsWhenThereAreNone) {
  d9d::test::expect_matches_in_every_dtype(layer, layer_reference, {values({0, 8}, 1), values({8}, 2)});
}

TEST(LayerNorm, NamesTheShapesThatDoNotFit) {
  EXPECT_THROW(d9d::kernels::layer_norm(values({4, 8}, 1), values({7}, 2), 1e-5), c10::Error);
}
