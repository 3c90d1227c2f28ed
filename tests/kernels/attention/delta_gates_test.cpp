#include "kernels/attention/delta_gates.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

// in: gates [.., Hk, 2 g], log_rate, bias.
Tensors gates_of(const Tensors& in) {
  const auto [decay, beta] = kernels::delta_gates(in[0], in[1], in[2]);
  return {decay, beta};
}

// b and a, [.., Hk g] each.
Tensors halves(const at::Tensor& gates) {
  const std::int64_t group = gates.size(-1) / 2;
  return {gates.narrow(-1, 0, group).flatten(-2), gates.narrow(-1, group, group).flatten(-2)};
}

// at::softplus(x) is x above 20, which misses the formula by 2e-9.
Tensors reference_gates(const Tensors& in) {
  const Tensors ba = halves(in[0]);
  const at::Tensor x = ba[1] + in[2];
  return {-in[1].exp() * at::logaddexp(x, at::zeros_like(x)), at::sigmoid(ba[0])};
}

TEST(DeltaGates, MatchTheFormulas) {
  expect_matches_in_every_dtype(gates_of, reference_gates,
                                {values({3, 200, 5, 2}, 1), values({5}, 2) * 2, values({5}, 3) * 3});
  expect_matches_in_every_dtype(gates_of, reference_gates,
                                {values({2, 70, 2, 6}, 1), values({6}, 2) * 2, values({6}, 3) * 3});
}

TEST(DeltaGates, TakeStridedNumbersAndLargeOnes) {
  const at::Tensor joint = values({4, 3, 6, 2}, 1) * 60;
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    expect_matches(gates_of, reference_gates, {joint.narrow(2, 3, 3), values({3}, 2), values({3}, 3)}, dtype);
  }
}

TEST(DeltaGates, GradientsMatchCentralDifferences) {
  gradcheck(gates_of, {values({4, 3, 4}, 1), values({6}, 2), values({6}, 3)});
}

TEST(DeltaGates, GradientsOfOneOfThemComeAlone) {
  for (const std::size_t wanted : {0, 1}) {
    gradcheck([wanted](const Tensors& in) -> Tensors { return {gates_of(in)[wanted]}; },
              {values({4, 3, 2}, 1), values({3}, 2), values({3}, 3)});
  }
}

TEST(DeltaGates, NameTheShapesThatDoNotFit) {
  EXPECT_THROW(gates_of({values({4, 3, 2}, 1), values({2}, 2), values({3}, 3)}), c10::Error);
  EXPECT_THROW(gates_of({values({4, 3, 3}, 1), values({3}, 2), values({3}, 3)}), c10::Error);
}

// MOD-25.
Tensors logsigmoid_of(const Tensors& in) {
  const auto [decay, beta] = kernels::logsigmoid_gates(in[0], 16);
  return {decay, beta};
}

Tensors reference_logsigmoid(const Tensors& in) {
  const Tensors ba = halves(in[0]);
  return {at::log_sigmoid(ba[1]) / 16, at::sigmoid(ba[0])};
}

TEST(LogsigmoidGates, MatchTheFormulas) {
  expect_matches_in_every_dtype(logsigmoid_of, reference_logsigmoid, {values({3, 200, 5, 2}, 1) * 3});
  expect_matches(logsigmoid_of, reference_logsigmoid, {(values({4, 3, 6, 2}, 1) * 60).narrow(2, 3, 3)},
                 at::kFloat);
}

TEST(LogsigmoidGates, GradientsMatchCentralDifferences) {
  gradcheck(logsigmoid_of, {values({4, 3, 4}, 1) * 2});
}

}  // namespace
}  // namespace d9d::test
