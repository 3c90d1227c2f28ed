#include "kernels/activation.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::Tensors;
using d9d::test::values;

namespace {

Tensors op(const Tensors& in) {
  return {d9d::kernels::silu_mul(in[0], in[1])};
}
Tensors reference(const Tensors& in) {
  return {at::silu(in[0]) * in[1]};
}

Tensors gelu(const Tensors& in) {
  return {d9d::kernels::gelu_mul(in[0], in[1])};
}
Tensors gelu_reference(const Tensors& in) {
  return {at::gelu(in[0], "tanh") * in[1]};
}

Tensors gelu_erf(const Tensors& in) {
  return {d9d::kernels::gelu_erf_mul(in[0], in[1])};
}
Tensors gelu_erf_reference(const Tensors& in) {
  return {at::gelu(in[0]) * in[1]};
}

// Limits that clamp some of the values: of gates from above alone.
Tensors clamped(const Tensors& in) {
  return {d9d::kernels::clamped_swiglu(in[0], 1.702, 0.5)};
}
// A value at the bound has a gradient: that of torch's clamp before 2.15, which gives none there.
Tensors clamped_reference(const Tensors& in) {
  const at::Tensor raw_gate = in[0].slice(-1, 0, {}, 2), raw_up = in[0].slice(-1, 1, {}, 2);
  const at::Tensor gate = at::where(raw_gate.le(0.5), raw_gate, 0.5),
                   up = at::where(raw_up.abs().le(0.5), raw_up, raw_up.detach().sign() * 0.5);
  return {(up + 1) * gate * at::sigmoid(gate * 1.702)};
}

}  // namespace

TEST(SiluMul, MatchesTheFormulaOnOddSizes) {
  for (const int64_t width : {1, 15, 16, 17, 513}) {
    d9d::test::expect_matches_in_every_dtype(op, reference,
                                             {values({4, width}, 1) * 8, values({4, width}, 2)});
  }
}

TEST(SiluMul, TakesTheTwoHalvesOfOneBuffer) {
  const auto both = values({2, 5, 46}, 1);

  d9d::test::expect_matches_in_every_dtype(op, reference, {both.narrow(2, 0, 23), both.narrow(2, 23, 23)});
}

TEST(SiluMul, IsFiniteWhereTheExponentialIsNot) {
  const auto gate = at::tensor({-1e4, -90.0, -60.0, 0.0, 60.0, 90.0, 1e4}, at::kDouble).view({1, 7});

  d9d::test::expect_matches(op, reference, {gate, values({1, 7}, 3)}, at::kFloat);
}

TEST(SiluMul, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(op, {values({3, 7}, 1), values({3, 7}, 2)});
}

TEST(GeluMul, MatchesTheFormulaOnOddSizes) {
  for (const int64_t width : {1, 15, 16, 17, 513}) {
    d9d::test::expect_matches_in_every_dtype(gelu, gelu_reference,
                                             {values({4, width}, 1) * 4, values({4, width}, 2)});
  }
}

TEST(GeluMul, IsFiniteWhereTheExponentialIsNot) {
  const auto gate = at::tensor({-1e4, -90.0, -9.0, 0.0, 9.0, 90.0, 1e4}, at::kDouble).view({1, 7});

  d9d::test::expect_matches(gelu, gelu_reference, {gate, values({1, 7}, 3)}, at::kFloat);
}

TEST(GeluMul, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(gelu, {values({3, 7}, 1), values({3, 7}, 2)});
}

TEST(GeluErfMul, MatchesTheFormulaOnOddSizes) {
  for (const int64_t width : {1, 15, 16, 17, 513}) {
    d9d::test::expect_matches_in_every_dtype(gelu_erf, gelu_erf_reference,
                                             {values({4, width}, 1) * 4, values({4, width}, 2)});
  }
}

// Where one polynomial follows another, and far out.
TEST(GeluErfMul, IsAsExactAsFloat32AtEveryGate) {
  const auto gate = at::linspace(-14, 14, 28001, at::kDouble), up = at::ones_like(gate);

  const auto value = d9d::kernels::gelu_erf_mul(gate.to(at::kFloat), up.to(at::kFloat));

  const auto error = (value.to(at::kDouble) - at::gelu(gate.to(at::kFloat).to(at::kDouble))).abs();
  EXPECT_LT((error / gate.abs().clamp_min(1)).max().item<double>(), 2e-7);
}

TEST(GeluErfMul, IsFiniteWhereTheExponentialIsNot) {
  const auto gate = at::tensor({-1e4, -90.0, -9.0, 0.0, 9.0, 90.0, 1e4}, at::kDouble).view({1, 7});

  d9d::test::expect_matches(gelu_erf, gelu_erf_reference, {gate, values({1, 7}, 3)}, at::kFloat);
}

TEST(GeluErfMul, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(gelu_erf, {values({3, 7}, 1), values({3, 7}, 2)});
}

TEST(ClampedSwiGlu, MatchesTheFormulaOfGateAndUpInTurns) {
  for (const int64_t width : {1, 15, 33}) {
    d9d::test::expect_matches_in_every_dtype(clamped, clamped_reference, {values({2, 4, 2 * width}, 1) * 2});
  }
}

TEST(ClampedSwiGlu, ClampsGatesFromAboveAloneAndHasGradientsAtTheBounds) {
  const auto gate_up =
      at::tensor({-8.0, 0.25, 0.5, 0.5, 0.5, -0.5, 8.0, 8.0, 8.0, -8.0, -0.5, 0.0}, at::kDouble);

  d9d::test::expect_matches(clamped, clamped_reference, {gate_up.view({1, 12})}, at::kDouble);
}

TEST(ClampedSwiGlu, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(clamped, {values({3, 8}, 1)});
}

TEST(ClampedSwiGlu, NamesAWidthThatHoldsNoPairs) {
  EXPECT_THROW(d9d::kernels::clamped_swiglu(values({3, 7}, 1), 1, 1), c10::Error);
}
