// The gated delta rule against the CPU's, and against its definition.
#include <ATen/ops/zeros.h>

#include "tests/kernels/attention/delta_recurrence.hpp"
#include "tests/kernels/cuda/attention/delta_inputs.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"

namespace d9d::test {
namespace {

using kernels::DeltaRuleOptions;
using kernels::OpTable;

// One chunk, several, a last one that is not full, sequences shorter than a chunk, groups of value heads.
constexpr DeltaSizes delta_sizes[] = {
    {1, 8, 1, 1, 8, 8}, {2, 29, 2, 4, 8, 16}, {3, 5, 1, 3, 16, 4}, {1, 130, 2, 2, 12, 12}};
// More columns of values than a block has, widths that are no packs, a state of which a block holds few columns.
constexpr DeltaSizes wide_delta_sizes[] = {
    {2, 21, 1, 2, 70, 37}, {1, 19, 1, 1, 300, 18}, {1, 9, 1, 1, 1024, 1}};
constexpr DeltaRuleOptions delta_options[] = {{.scale = 0.5, .normalise = true, .chunk = 64},
                                              {.scale = 1, .normalise = true, .chunk = 8},
                                              {.scale = 0.3, .normalise = false, .chunk = 16}};

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

TEST_F(CudaOps, SmallDeltaRulesOfWideHeadsEqualTheCpus) {
  for (const DeltaSizes& sizes : wide_delta_sizes) {
    const DeltaInputs in = delta_inputs(sizes, delta_options[1], at::kFloat);
    expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, in.decay, in.beta, delta_options[1]);
    expect_same_as_cpu(&OpTable::delta_rule_backward, 4, in.grad, in.q, in.k, in.v, in.decay, in.beta,
                       delta_options[1]);
  }
}

// As far from fp64 as a share of the largest number: sums of a row may cancel.
void expect_near(const at::Tensor& given, const at::Tensor& truth, const std::string& what) {
  const double largest = truth.abs().max().item<double>();
  EXPECT_LT((given.cpu().to(at::kDouble) - truth).abs().max().item<double>(), 1e-5 * largest) << what;
}

TEST_F(CudaOps, SmallDeltaRulesAreTheRecurrenceInFp64) {
  for (const DeltaSizes& sizes : {delta_sizes[1], delta_sizes[2], DeltaSizes{1, 70, 2, 4, 12, 8}}) {
    for (const DeltaRuleOptions& options : delta_options) {
      const DeltaInputs in = delta_inputs(sizes, options, at::kFloat);
      const auto exact = [](const at::Tensor& x) { return x.to(at::kDouble).requires_grad_(); };
      const at::Tensor q = exact(in.q), k = exact(in.k), v = exact(in.v), decay = exact(in.decay),
                       beta = exact(in.beta);
      const at::Tensor truth = delta_recurrence(q, k, v, decay, beta, options);
      truth.backward(in.grad.to(at::kDouble));

      const at::Tensor out =
          (table_under_test().delta_rule)
              .function()(there(in.q), there(in.k), there(in.v), there(in.decay), there(in.beta), options);
      const kernels::DeltaRuleGradients back =
          (table_under_test().delta_rule_backward)
              .function()(there(in.grad), there(in.q), there(in.k), there(in.v), there(in.decay),
                          there(in.beta), options);

      expect_near(out, truth.detach(), "out");
      expect_near(back.dq, q.grad(), "dq");
      expect_near(back.dk, k.grad(), "dk");
      expect_near(back.dv, v.grad(), "dv");
      expect_near(back.ddecay, decay.grad(), "ddecay");
      expect_near(back.dbeta, beta.grad(), "dbeta");
    }
  }
}

TEST_F(CudaOps, SmallDeltaRulesOfNoTokensAreEmpty) {
  const DeltaInputs in({2, 0, 1, 2, 8, 8}, at::kFloat);
  expect_same_as_cpu(&OpTable::delta_rule, 1, in.q, in.k, in.v, in.decay, in.beta, delta_options[0]);
}

}  // namespace
}  // namespace d9d::test
