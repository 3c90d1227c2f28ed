// Mod30, Mod32: sinks against a softmax in fp64 with one more column, which has no value.
#include "kernels/attention/sinks.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/attention/attention.hpp"
#include "kernels/graph/weight_work.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels {
namespace {

using test::Tensors;
using test::values;

at::Tensor with_one_more_column(const Tensors& in, const at::Tensor& hidden, double scale) {
  const auto group = in[0].size(2) / in[1].size(2);
  const auto by_head = [&](const at::Tensor& x) { return x.repeat_interleave(group, 2).transpose(1, 2); };
  const at::Tensor scores = at::matmul(in[0].transpose(1, 2), by_head(in[1]).transpose(2, 3)) * scale;
  const at::Tensor sinks = in[3].view({1, -1, 1, 1}).expand({scores.size(0), -1, scores.size(2), 1});
  const at::Tensor seen = scores.masked_fill(hidden, -1e30);
  const at::Tensor all = at::softmax(at::cat({seen, sinks}, -1), -1);
  return at::matmul(all.narrow(-1, 0, scores.size(3)), by_head(in[2])).transpose(1, 2);
}

Tensors with_sinks(std::int64_t length, std::int64_t heads, std::int64_t key_heads, std::int64_t dim) {
  return {values({2, length, heads, dim}, 1) * 3, values({2, length, key_heads, dim}, 2) * 3,
          values({2, length, key_heads, dim}, 3), values({heads}, 4) * 2};
}

void expect_one_more_column(const Tensors& in, const AttentionMask& mask, const at::Tensor& hidden,
                            const VisibleKeys& visible = {}) {
  test::expect_matches_in_every_dtype(
      [=](const Tensors& x) -> Tensors {
        return {attention(x[0], x[1], x[2], mask, 0.3, visible, sink_logits(x[3]))};
      },
      [=](const Tensors& x) -> Tensors { return {with_one_more_column(x, hidden, 0.3)}; }, in);
}

// MOD-32.
TEST(Sinks, Mod32TakeMassAsOneMoreColumnWithoutAValue) {
  for (const std::int64_t length : {1, 7, 33, 130}) {
    const at::Tensor later = at::ones({length, length}, at::kBool).triu(1);
    expect_one_more_column(with_sinks(length, 4, 2, 8), causal_mask, later);
    expect_one_more_column(with_sinks(length, 3, 1, 16), full_mask, at::zeros_like(later));
  }
}

// The first 3 queries see nothing but their sink.
TEST(Sinks, AreAllThatAQueryWithoutKeysSees) {
  const at::Tensor end = (at::arange(20) - 2).clamp(0).expand({2, 20}).contiguous();
  const at::Tensor hidden = at::arange(20) >= end[0].unsqueeze(1);

  expect_one_more_column(with_sinks(20, 4, 2, 8), full_mask, hidden, {{}, end});
}

TEST(Sinks, GradientsAreCentralDifferences) {
  test::gradcheck(
      [](const Tensors& x) -> Tensors {
        return {attention(x[0], x[1], x[2], causal_mask, 0.5, {}, sink_logits(x[3]))};
      },
      {values({2, 5, 2, 4}, 1), values({2, 5, 1, 4}, 2), values({2, 5, 1, 4}, 3), values({2}, 4)});
}

TEST(Sinks, AddTheirGradientAsWeightWork) {
  const Tensors x = with_sinks(9, 2, 1, 4);
  const at::Tensor plain = x[3].detach().requires_grad_(), direct = x[3].detach().requires_grad_();
  direct.mutable_grad() = at::ones({2}, at::kDouble);
  const auto train = [&](const at::Tensor& sinks) {
    attention(x[0], x[1], x[2], causal_mask, 0.5, {}, sink_logits(sinks)).sum().backward();
  };

  train(plain);
  const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  {
    const WeightWork::Scope scope(work);
    train(direct);
  }

  EXPECT_EQ(work->pending(), 1U);
  work->run_queued();
  EXPECT_TRUE((direct.grad() - 1).allclose(plain.grad()));
}

TEST(Sinks, OfOtherHeadsAreRefused) {
  const Tensors x = with_sinks(3, 2, 1, 4);

  EXPECT_ANY_THROW(attention(x[0], x[1], x[2], causal_mask, 1, {}, values({3}, 1)));
  EXPECT_ANY_THROW(attention(x[0], x[1], x[2], causal_mask, 1, {}, values({2}, 1).to(at::kFloat)));
}

}  // namespace
}  // namespace d9d::kernels
