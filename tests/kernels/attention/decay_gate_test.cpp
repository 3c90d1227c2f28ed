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

}  // namespace
}  // namespace d9d::test
