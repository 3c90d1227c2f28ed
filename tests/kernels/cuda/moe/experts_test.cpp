// All experts in one op, in its pieces, against the CPU's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <limits>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::ExpertFactor;
using kernels::ExpertRowGradients;
using kernels::ExpertRows;
using kernels::OpTable;

constexpr int64_t num_tokens = 19, top_k = 2, num_experts = 5, hidden_size = 24, inner = 16,
                  num_rows = num_tokens * top_k;

// Each token's choices differ; expert 2 has no tokens.
at::Tensor choices() {
  const at::Tensor first = integers({num_tokens, 1}, 2, 0);
  return at::cat({first, first.add(3)}, 1);
}

ExpertRows rows_of_choices() {
  const auto& cpu = kernels::op_detail::table_of("test", {});
  return cpu.expert_rows.function()(choices(), values({num_tokens, top_k}, 1, at::kFloat).abs(), num_experts);
}

at::Tensor weights(int64_t out, int64_t in, std::uint64_t seed, at::ScalarType dtype) {
  return values({num_experts, out, in}, seed, dtype);
}

// bf16: the rows of an expert are rounded before they are summed, those of the CPU are not.
double rounds(at::ScalarType dtype) {
  return dtype == at::kFloat ? 1 : 8;
}

TEST_F(CudaOps, SmallRowsOfChoicesEqualTheCpus) {
  expect_same_as_cpu(&OpTable::expert_rows, 1, choices(), values({num_tokens, top_k}, 1, at::kFloat),
                     num_experts);
}

TEST_F(CudaOps, SmallExpertsEqualTheCpus) {
  const ExpertRows rows = rows_of_choices();
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    expect_same_as_cpu(&OpTable::expert_project, 1,
                       ExpertFactor{values({num_tokens, hidden_size}, 2, dtype), true},
                       weights(inner, hidden_size, 3, dtype), rows);
    const at::Tensor gate = values({num_rows, inner}, 4, dtype).abs(),
                     up = values({num_rows, inner}, 5, dtype).abs();
    const at::Tensor down = weights(hidden_size, inner, 6, dtype).abs();
    expect_same_as_cpu(&OpTable::expert_combine, rounds(dtype), gate, up, down, rows, num_tokens);
  }
}

// Small whole numbers, so that a row's gradient is a bf16 number before it is rounded to one.
TEST_F(CudaOps, SmallExpertsRowGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor dy = integers({num_tokens, hidden_size}, 3, 6).to(dtype);
    const at::Tensor down = integers({num_experts, hidden_size, inner}, 3, 7).to(dtype);
    expect_same_as_cpu(&OpTable::expert_row_gradients, 1, ExpertFactor{dy, true},
                       values({num_rows, inner}, 4, dtype), values({num_rows, inner}, 5, dtype), down,
                       rows_of_choices());
  }
}

// Positive numbers in bf16, whose sums are then as close as their terms.
TEST_F(CudaOps, SmallExpertsGradientsEqualTheCpus) {
  const ExpertRows rows = rows_of_choices();
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto of = [&](at::IntArrayRef sizes, std::uint64_t seed) {
      return values(sizes, seed, dtype).abs();
    };
    const at::Tensor gate = of({num_rows, inner}, 4), up = of({num_rows, inner}, 5),
                     dy = of({num_tokens, hidden_size}, 6);
    const ExpertRowGradients grads{gate, up, up, rows.scale};
    expect_same_as_cpu(&OpTable::expert_dx, rounds(dtype), grads, weights(inner, hidden_size, 8, dtype).abs(),
                       weights(inner, hidden_size, 9, dtype).abs(), rows, num_tokens);
    for (const double beta : {0.0, 1.0}) {
      const at::Tensor into = beta == 0 ? at::full({num_experts, inner, hidden_size},
                                                   std::numeric_limits<double>::quiet_NaN(), at::kFloat)
                                        : weights(inner, hidden_size, 10, at::kFloat).abs();
      expect_same_as_cpu(&OpTable::expert_dw, rounding_of_row_sums(dtype), into, ExpertFactor{gate},
                         ExpertFactor{dy, true}, rows, beta);
      expect_same_as_cpu(&OpTable::expert_dw, 2, into.to(at::kBFloat16), ExpertFactor{gate},
                         ExpertFactor{dy, true}, rows, beta);
    }
  }
  expect_same_as_cpu(&OpTable::expert_dprobs, 0, values({num_rows}, 11, at::kFloat), rows);
}

// Rows that were gathered for one product are those of the next one.
TEST_F(CudaOps, SmallExpertsShareTheRowsOfAFactor) {
  const ExpertRows rows = copied(rows_of_choices(), there);
  const ExpertFactor x = kernels::shared_factor(there(values({num_tokens, hidden_size}, 2, at::kFloat)));
  const at::Tensor gate = there(weights(inner, hidden_size, 3, at::kFloat));
  const auto project = (table_under_test().*(&OpTable::expert_project)).function();

  const at::Tensor first = project(x, gate, rows);
  ASSERT_EQ(x.gathered->sizes(), at::IntArrayRef({num_rows, hidden_size}));
  x.gathered->mul_(2);

  EXPECT_TRUE(same_bits(project(x, gate, rows), first.mul(2)));
  EXPECT_TRUE(same_bits(project({x.matrix, true}, gate, rows), first));
}

}  // namespace
}  // namespace d9d::test
