#include "kernels/linear.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/graph/weight_work.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::WeightWork;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

Tensors linear_op(const Tensors& in) {
  return {d9d::kernels::linear(in[0], in[1])};
}
Tensors op_with_bias(const Tensors& in) {
  return {d9d::kernels::linear(in[0], in[1], in[2])};
}
Tensors linear_reference(const Tensors& in) {
  return {at::linear(in[0], in[1], in.size() > 2 ? std::optional(in[2]) : std::nullopt)};
}

// x, then one buffer of which the weights are consecutive rows.
Tensors split_op(const Tensors& in) {
  return d9d::kernels::linear_multi(in[0],
                                    {in[1].narrow(0, 0, 5), in[1].narrow(0, 5, 2), in[1].narrow(0, 7, 4)});
}

}  // namespace

TEST(Linear, MatchesTheFormulaOnOddSizes) {
  d9d::test::expect_matches_in_every_dtype(linear_op, linear_reference,
                                           {values({2, 7, 13}, 1), values({5, 13}, 2)});
  d9d::test::expect_matches_in_every_dtype(op_with_bias, linear_reference,
                                           {values({2, 7, 13}, 1), values({5, 13}, 2), values({5}, 3)});
  d9d::test::expect_matches_in_every_dtype(linear_op, linear_reference,
                                           {values({130, 300}, 1), values({97, 300}, 2)});
}

TEST(Linear, TakesStridedInputs) {
  const auto wide = values({6, 40}, 1);

  d9d::test::expect_matches_in_every_dtype(linear_op, linear_reference,
                                           {wide.narrow(1, 3, 17), values({17, 4}, 2).t()});
  d9d::test::expect_matches_in_every_dtype(linear_op, linear_reference, {wide.t(), values({9, 6}, 2)});
}

TEST(Linear, OfNoRowsHasZeroWeightGradients) {
  d9d::test::expect_matches_in_every_dtype(linear_op, linear_reference,
                                           {values({0, 13}, 1), values({5, 13}, 2)});
}

TEST(Linear, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(op_with_bias, {values({2, 3}, 1), values({4, 3}, 2), values({4}, 3)});
}

TEST(LinearMulti, EqualsOneLinearPerWeight) {
  const Tensors inputs{values({6, 13}, 1), values({5, 13}, 2), values({3, 13}, 3)};

  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) {
        return d9d::kernels::linear_multi(in[0], {in[1], in[2]});
      },
      [](const Tensors& in) -> Tensors {
        return {at::linear(in[0], in[1]), at::linear(in[0], in[2])};
      },
      inputs);
}

TEST(LinearMulti, JoinsWeightsThatFollowEachOther) {
  const auto x = values({6, 13}, 1), buffer = values({11, 13}, 2);

  const auto outputs = split_op({x, buffer});

  EXPECT_TRUE(outputs[0].storage().is_alias_of(outputs[2].storage()));
  d9d::test::expect_matches_in_every_dtype(split_op,
                                           [](const Tensors& in) {
                                             return at::linear(in[0], in[1]).split_with_sizes({5, 2, 4}, -1);
                                           },
                                           {x, buffer});
}

// The gradients of what is put side by side are columns of one matrix.
TEST(LinearMulti, HasTheGradientOfItsInputFromGradientsThatAreSideBySide) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors { return {at::cat(split_op(in), -1)}; }, linear_reference,
      {values({2, 6, 13}, 1), values({11, 13}, 2)});
}

TEST(LinearMulti, HasGradientsOfBiasesAndTermsFromGradientsThatAreSideBySide) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors {
        const Tensors weights{in[1].narrow(0, 0, 5), in[1].narrow(0, 5, 6)},
            biases{in[2].narrow(0, 0, 5), in[2].narrow(0, 5, 6)};
        return {at::cat(d9d::kernels::linear_multi(in[0], weights, biases, {{}, {in[3], in[4], 0.5}}), -1)};
      },
      [](const Tensors& in) -> Tensors {
        const auto low = at::linear(at::linear(in[0], in[3]), in[4]) * 0.5;
        return {at::linear(in[0], in[1], in[2]) + at::constant_pad_nd(low, {5, 0})};
      },
      {values({2, 6, 13}, 1), values({11, 13}, 2), values({11}, 3), values({2, 13}, 4), values({6, 2}, 5)});
}

namespace {

// The weights' gradients as weight work, in rows of one buffer or (`apart`) each in memory of its own.
Tensors gradients_as_work(at::ScalarType dtype, WeightWork::Mode mode, bool side_by_side, bool apart) {
  const auto x = values({2, 6, 13}, 1, dtype).requires_grad_(), buffer = values({11, 13}, 2, dtype);
  const auto sums = values({11, 13}, 3, at::kDouble).to(dtype == at::kDouble ? dtype : at::kFloat);
  const auto work = c10::make_intrusive<WeightWork>(mode);
  const WeightWork::Scope scope(work);
  Tensors weights;
  for (const auto& [begin, rows] : {std::pair(0, 5), std::pair(5, 2), std::pair(7, 4)}) {
    weights.push_back(buffer.narrow(0, begin, rows).detach().requires_grad_());
    const auto sum = sums.narrow(0, begin, rows);
    weights.back().mutable_grad() = apart ? sum.clone() : sum;
  }
  const Tensors y = d9d::kernels::linear_multi(x, weights);
  const auto up = values({2, 6, 11}, 4, dtype);
  if (side_by_side) {
    at::cat(y, -1).backward(up);
  } else {
    for (int i = 0; const auto& part : up.split_with_sizes({5, 2, 4}, -1))
      y[i++].backward(part.contiguous(), /*retain_graph=*/true);
  }
  work->run_queued();
  return {x.grad(), at::cat({weights[0].grad(), weights[1].grad(), weights[2].grad()})};
}

}  // namespace

TEST(LinearMulti, AddsUpTheGradientsOfItsWeightsByOneProductOrMore) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto x = values({2, 6, 13}, 1, dtype), up = values({2, 6, 11}, 4, dtype);
    const auto expected =
        values({11, 13}, 3) + up.to(at::kDouble).flatten(0, 1).t().mm(x.to(at::kDouble).flatten(0, 1));
    const auto expected_dx = up.to(at::kDouble).matmul(values({11, 13}, 2, dtype).to(at::kDouble));
    for (const bool side_by_side : {true, false}) {
      for (const bool apart : {true, false}) {
        for (const auto mode : {WeightWork::Mode::now, WeightWork::Mode::deferred}) {
          const Tensors given = gradients_as_work(dtype, mode, side_by_side, apart);

          d9d::test::expect_close(given[0], expected_dx, d9d::test::tolerance(dtype), "dx");
          d9d::test::expect_close(given[1], expected, d9d::test::tolerance(at::kFloat), "sums");
        }
      }
    }
  }
}

TEST(LinearMulti, AddsTheBiasesThatAreThere) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) {
        return d9d::kernels::linear_multi(in[0], {in[1], in[2]}, {in[3], at::Tensor()});
      },
      [](const Tensors& in) -> Tensors {
        return {at::linear(in[0], in[1], in[3]), at::linear(in[0], in[2])};
      },
      {values({6, 13}, 1), values({5, 13}, 2), values({3, 13}, 3), values({5}, 4)});
}

TEST(LinearMulti, AddsTheTermsOfLowRankThatAreThere) {
  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) {
        return d9d::kernels::linear_multi(in[0], {in[1], in[2]}, {}, {{}, {in[3], in[4], 0.5}});
      },
      [](const Tensors& in) -> Tensors {
        return {at::linear(in[0], in[1]),
                at::add(at::linear(in[0], in[2]), at::linear(at::linear(in[0], in[3]), in[4]), 0.5)};
      },
      {values({6, 13}, 1), values({5, 13}, 2), values({3, 13}, 3), values({2, 13}, 4), values({3, 2}, 5)});
}

TEST(Linear, WithATermOfLowRankHasGradientsThatMatchCentralDifferences) {
  d9d::test::gradcheck(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::linear(in[0], in[1], in[2], {in[3], in[4], 2.0})};
      },
      {values({2, 3}, 1), values({4, 3}, 2), values({4}, 3), values({2, 3}, 4), values({4, 2}, 5)});
}

TEST(Linear, NamesTheShapesThatDoNotFit) {
  EXPECT_THROW(
      d9d::kernels::linear(values({4, 8}, 1), values({7, 8}, 2), {}, {values({2, 8}, 3), values({6, 2}, 4)}),
      c10::Error);
  EXPECT_THROW(d9d::kernels::linear(values({4, 8}, 1), values({7, 9}, 2)), c10::Error);
}
