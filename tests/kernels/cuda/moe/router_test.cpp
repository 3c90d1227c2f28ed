// Routing against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;
using kernels::RouterRule;

std::vector<RouterRule> rules() {
  return {{.top_k = 1},
          {.top_k = 4, .renormalise = true},
          {.top_k = 8, .renormalise = true, .sigmoid = true, .groups = 4, .kept_groups = 2, .scale = 2.5},
          {.top_k = 3, .groups = 8, .kept_groups = 3}};
}

TEST_F(CudaOps, SmallRoutingsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const RouterRule& rule : rules()) {
      for (const int64_t experts : {16, 40, 128}) {
        const at::Tensor logits = values({11, experts}, 0, dtype).mul(3),
                         bias = values({experts}, 1, at::kFloat);
        expect_same_as_cpu(&OpTable::moe_router, 1, logits, at::Tensor(), rule);
        expect_same_as_cpu(&OpTable::moe_router, 1, logits, bias, rule);
      }
    }
  }
}

// Equal logits: the experts with the lower indices, and the first groups.
TEST_F(CudaOps, SmallTiesGoToTheLowerExpertAsOnTheCpu) {
  for (const RouterRule& rule : rules())
    expect_same_as_cpu(&OpTable::moe_router, 1, at::zeros({3, 40}, at::kFloat), at::Tensor(), rule);
}

TEST_F(CudaOps, SmallRoutingsOfNoTokensAreEmpty) {
  expect_same_as_cpu(&OpTable::moe_router, 1, at::zeros({0, 40}, at::kFloat), at::Tensor(),
                     RouterRule{.top_k = 2});
}

TEST_F(CudaOps, SmallRoutingsGradientsEqualTheCpus) {
  for (const RouterRule& rule : rules()) {
    const at::Tensor scores = values({11, 40}, 0, at::kFloat).abs(),
                     dprobs = values({11, rule.top_k}, 1, at::kFloat);
    const at::Tensor experts = std::get<1>(values({11, 40}, 2, at::kFloat).topk(rule.top_k, 1));
    expect_same_as_cpu(&OpTable::moe_router_backward, 1, dprobs, scores, experts, rule);
  }
}

}  // namespace
}  // namespace d9d::test
