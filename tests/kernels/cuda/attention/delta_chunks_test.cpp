// Chunks of the gated delta rule that a carried state joins.
#include "tests/kernels/cuda/attention/delta_inputs.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"

namespace d9d::test {
namespace {

using kernels::DeltaRuleOptions;
using kernels::OpTable;

constexpr DeltaRuleOptions in_chunks_of_8{.scale = 0.5, .normalise = true, .chunk = 8};

// Decays that forget everything: sums of them above the diagonal would be infinite as factors.
TEST_F(CudaOps, SmallDeltaRulesThatForgetEqualTheCpus) {
  const DeltaSizes sizes{1, 40, 1, 2, 8, 8};
  const DeltaInputs in = delta_inputs(sizes, in_chunks_of_8, at::kFloat);
  const at::Tensor decay = in.decay.mul(100);
  expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, decay, in.beta, in_chunks_of_8);
  expect_same_as_cpu(&OpTable::delta_rule_backward, 4, in.grad, in.q, in.k, in.v, decay, in.beta,
                     in_chunks_of_8);
}

TEST_F(CudaOps, SmallDeltaRulesInLargeChunksAreRefused) {
  const DeltaInputs in({1, 100, 1, 1, 4, 4}, at::kFloat);
  const auto large = [&] {
    (table_under_test().delta_rule)
        .function()(there(in.q), there(in.k), there(in.v), there(in.decay), there(in.beta), {.chunk = 100});
  };
  EXPECT_THROW(large(), c10::Error);
}

}  // namespace
}  // namespace d9d::test
