// The gated delta rule against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::DeltaRuleOptions;
using kernels::OpTable;

struct DeltaSizes {
  int64_t sequences, length, key_heads, value_heads, dk, dv;
};

struct DeltaInputs {
  at::Tensor q, k, v, decay, beta, grad;

  DeltaInputs(const DeltaSizes& s, at::ScalarType dtype)
      : q(values({s.sequences, s.length, s.key_heads, s.dk}, 1, dtype)),
        k(values({s.sequences, s.length, s.key_heads, s.dk}, 2, dtype)),
        v(values({s.sequences, s.length, s.value_heads, s.dv}, 3, dtype)),
        decay(values({s.sequences, s.length, s.value_heads}, 4, at::kFloat).abs().mul(-2)),
        beta(values({s.sequences, s.length, s.value_heads}, 5, at::kFloat).sigmoid()),
        grad(values({s.sequences, s.length, s.value_heads, s.dv}, 6, dtype)) {}
};

// One chunk, several, a last one that is not full, sequences shorter than a chunk, groups of value heads.
constexpr DeltaSizes delta_sizes[] = {
    {1, 8, 1, 1, 8, 8}, {2, 29, 2, 4, 8, 16}, {3, 5, 1, 3, 16, 4}, {1, 130, 2, 2, 12, 12}};
constexpr DeltaRuleOptions delta_options[] = {{.scale = 0.5, .normalise = true, .chunk = 64},
                                              {.scale = 1, .normalise = true, .chunk = 8},
                                              {.scale = 0.3, .normalise = false, .chunk = 16}};

// Unit keys, or small ones: a rule whose keys are longer diverges.
DeltaInputs delta_inputs(const DeltaSizes& sizes, const DeltaRuleOptions& options, at::ScalarType dtype) {
  DeltaInputs in(sizes, dtype);
  if (!options.normalise) in.k.mul_(0.3);
  return in;
}

TEST_F(CudaOps, SmallDeltaRulesEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const DeltaSizes& sizes : delta_sizes) {
      for (const DeltaRuleOptions& options : delta_options) {
        const DeltaInputs in = delta_inputs(sizes, options, dtype);
        expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, in.decay, in.beta, options);
      }
    }
  }
}

TEST_F(CudaOps, SmallDeltaRulesGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const DeltaSizes& sizes : delta_sizes) {
      for (const DeltaRuleOptions& options : delta_options) {
        const DeltaInputs in = delta_inputs(sizes, options, dtype);
        expect_same_as_cpu(&OpTable::delta_rule_backward, 4, in.grad, in.q, in.k, in.v, in.decay, in.beta,
                           options);
      }
    }
  }
}

// Decays that forget everything: sums of them above the diagonal would be infinite as factors.
TEST_F(CudaOps, SmallDeltaRulesThatForgetEqualTheCpus) {
  const DeltaSizes sizes{1, 40, 1, 2, 8, 8};
  const DeltaInputs in = delta_inputs(sizes, delta_options[0], at::kFloat);
  const at::Tensor decay = in.decay.mul(100);
  expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, decay, in.beta, delta_options[0]);
  expect_same_as_cpu(&OpTable::delta_rule_backward, 4, in.grad, in.q, in.k, in.v, decay, in.beta,
                     delta_options[0]);
}

TEST_F(CudaOps, SmallDeltaRulesOfNoTokensAreEmpty) {
  const DeltaInputs in({2, 0, 1, 2, 8, 8}, at::kFloat);
  expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, in.decay, in.beta, delta_options[0]);
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
