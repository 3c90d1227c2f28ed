#include "kernels/attention/decay_gate.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

Tensors gate(const Tensors& in) {
  return {kernels::decay_gate(in[0], in[1], in[2])};
}

Tensors reference_gate(const Tensors& in) {
  return {-in[1].exp() * at::softplus(in[0] + in[2])};
}

TEST(DecayGate, MatchesTheFormula) {
  expect_matches_in_every_dtype(gate, reference_gate,
                                {values({3, 200, 5}, 1), values({5}, 2) * 2, values({5}, 3) * 3});
}

TEST(DecayGate, TakesStridedNumbersAndLargeOnes) {
  const at::Tensor joint = values({4, 3, 6}, 1) * 60;
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    expect_matches(gate, reference_gate, {joint.narrow(2, 3, 3), values({3}, 2), values({3}, 3)}, dtype);
  }
}

TEST(DecayGate, GradientsMatchCentralDifferences) {
  gradcheck(gate, {values({4, 3}, 1), values({3}, 2), values({3}, 3)});
}

TEST(DecayGate, NamesTheShapesThatDoNotFit) {
  EXPECT_THROW(gate({values({4, 3}, 1), values({2}, 2), values({3}, 3)}), c10::Error);
}

// MOD-25.
Tensors logsigmoid_of(const Tensors& in) {
  return {kernels::logsigmoid_gate(in[0], 16)};
}

Tensors reference_logsigmoid(const Tensors& in) {
  return {at::log_sigmoid(in[0]) / 16};
}

TEST(LogsigmoidGate, MatchesTheFormula) {
  expect_matches_in_every_dtype(logsigmoid_of, reference_logsigmoid, {values({3, 200, 5}, 1) * 3});
  expect_matches(logsigmoid_of, reference_logsigmoid, {(values({4, 3, 6}, 1) * 60).narrow(2, 3, 3)},
                 at::kFloat);
}

TEST(LogsigmoidGate, GradientsMatchCentralDifferences) {
  gradcheck(logsigmoid_of, {values({4, 3}, 1) * 2});
}

}  // namespace
}  // namespace d9d::test
