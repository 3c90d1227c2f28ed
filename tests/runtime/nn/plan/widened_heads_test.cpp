// Values of another width than keys, over sequences that ranks share, against the whole sequence on one rank.
#include "runtime/nn/plan/widened_heads.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include "kernels/attention/attention.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/nn/plan/ring_attention.hpp"
#include "runtime/nn/plan/ulysses.hpp"
#include "tests/runtime/nn/waves.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d::test {
namespace {

constexpr int sharing_ranks = 2;
constexpr std::int64_t tokens_per_sample = 8;

struct Heads {
  at::Tensor q, k, v;
};

Heads heads_of(std::int64_t value_dim) {
  return {waves({2, tokens_per_sample, 4, 6}, 1), waves({2, tokens_per_sample, 2, 6}, 2),
          waves({2, tokens_per_sample, 2, value_dim}, 3)};
}

// Of the tokens given: the result, and the gradients of its weighted sum.
struct Attended {
  at::Tensor out, dq, dk, dv;
};

Attended attend(const Heads& heads, const at::Tensor& weights, const Attend& how) {
  const at::Tensor q = heads.q.clone().requires_grad_(), k = heads.k.clone().requires_grad_(),
                   v = heads.v.clone().requires_grad_();
  const at::Tensor out = how(q, k, v);
  (out * weights).sum().backward();
  return {out.detach(), q.grad(), k.grad(), v.grad()};
}

template <class Core>
void expect_as_on_one_rank(std::int64_t value_dim) {
  const Heads all = heads_of(value_dim);
  const at::Tensor weights = waves({2, tokens_per_sample, 4, value_dim}, 4);
  const Attended expected = attend(all, weights, [](const auto& q, const auto& k, const auto& v) {
    return kernels::attention(q, k, v, kernels::causal_mask, 0.4);
  });
  const Plan plan({.context_parallel_shard = sharing_ranks}, {sharing_ranks});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {.timeout = std::chrono::seconds(60)});
  in_threads(sharing_ranks, [&](int rank) {
    const SharedCommunicator group(factory.open(rank, batch_domain, {"cp"}, "context"));
    const Core core(group, TokenOrder::contiguous);
    const auto own = [&](const at::Tensor& x) {
      return x.narrow(1, rank * tokens_per_sample / sharing_ranks, tokens_per_sample / sharing_ranks)
          .contiguous();
    };
    const Attended got =
        attend({own(all.q), own(all.k), own(all.v)}, own(weights),
               [&](const auto& q, const auto& k, const auto& v) { return core.attend(q, k, v, {0.4}); });
    EXPECT_TRUE(at::allclose(got.out, own(expected.out), 1e-9, 1e-9));
    EXPECT_TRUE(at::allclose(got.dq, own(expected.dq), 1e-9, 1e-9));
    EXPECT_TRUE(at::allclose(got.dk, own(expected.dk), 1e-9, 1e-9));
    EXPECT_TRUE(at::allclose(got.dv, own(expected.dv), 1e-9, 1e-9));
  });
}

TEST(WidenedHeads, GoRoundTheRingAsOnOneRank) {
  expect_as_on_one_rank<RingAttention>(3);
  expect_as_on_one_rank<RingAttention>(9);
}

TEST(WidenedHeads, AreSharedByUlyssesAsOnOneRank) {
  expect_as_on_one_rank<UlyssesAttention>(3);
  expect_as_on_one_rank<UlyssesAttention>(9);
}

}  // namespace
}  // namespace d9d::test
