// Mod32: biases of positions of parts of the scores are parts of the whole.
#include "runtime/nn/attention/attention_bias.hpp"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/attention/score_bias.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/block/block_costs.hpp"
#include "runtime/nn/plan/ring_attention.hpp"
#include "runtime/nn/plan/ulysses.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

AttentionOptions options_of(PositionBias bias) {
  AttentionOptions options{.hidden_size = 8,
                           .num_heads = 6,
                           .num_kv_heads = 2,
                           .head_dim = 4,
                           .value_head_dim = 4,
                           .position_bias = bias};
  options.bias_buckets = 8;
  options.bias_longest = 6;
  return options;
}

// [1, heads, queries, keys]
at::Tensor dense(const AttentionBias& bias, const BiasedScores& scores) {
  return kernels::bias_of_part(bias.of(scores), {scores.queries, 0, scores.queries, 0, scores.keys},
                               scores.dtype);
}

TEST(AttentionBias, OfSomeHeadsAndLaterQueriesIsAPartOfTheWhole) {
  for (const PositionBias kind : {PositionBias::alibi, PositionBias::buckets}) {
    ParameterMaker make(at::kDouble, at::kCPU, 1);
    torch::nn::Module owner;
    const auto bias = make_position_bias(make, owner, options_of(kind));
    for (const StageParameter& parameter : make.parameters())
      parameter.tensor.detach().copy_(values(parameter.tensor.sizes(), 3));

    const at::Tensor whole = dense(*bias, {.queries = 9, .keys = 9, .heads = 6, .dtype = at::kDouble});
    const at::Tensor part =
        dense(*bias,
              {.first_query = 5, .queries = 2, .keys = 7, .first_head = 2, .heads = 3, .dtype = at::kDouble});

    EXPECT_TRUE(at::equal(part, whole.narrow(1, 2, 3).narrow(2, 5, 2).narrow(3, 0, 7)));
    EXPECT_NE(whole.abs().sum().item<double>(), 0);
  }
}

TEST(AttentionBias, OfAlibiFallsWithTheDistanceOnBothSides) {
  const at::Tensor bias = dense(AlibiBias(2), {.queries = 4, .keys = 4, .heads = 2});

  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(bias[0][0][i][j].item<float>(), -static_cast<float>(std::abs(i - j)) / 16);
      EXPECT_EQ(bias[0][1][i][j].item<float>(), -static_cast<float>(std::abs(i - j)) / 256);
    }
  }
}

TEST(AttentionBias, IsCountedAmongTheParametersOfItsBlock) {
  for (const PositionBias kind : {PositionBias::none, PositionBias::alibi, PositionBias::buckets}) {
    ParameterMaker make(at::kFloat, at::kCPU, 1);
    const GroupedQueryAttention block(make, options_of(kind));

    std::int64_t parameters = 0;
    for (const StageParameter& parameter : make.parameters()) parameters += parameter.tensor.numel();
    EXPECT_EQ(parameters, attention_costs(options_of(kind)).parameters);
  }
}

TEST(AttentionBias, OfBucketsThatCannotBeIsRefused) {
  for (const auto& [buckets, longest] : {std::pair{2, 20}, {3, 20}, {8, 2}, {8, 1}}) {
    ParameterMaker make(at::kFloat, at::kCPU, 1);
    AttentionOptions options = options_of(PositionBias::buckets);
    options.causal = false;
    options.bias_buckets = buckets;
    options.bias_longest = longest;
    EXPECT_THROW(GroupedQueryAttention(make, options), Error) << buckets << " buckets up to " << longest;
  }
}

TEST(AttentionBias, IsRefusedByRingAttentionAlone) {
  for (const PositionBias kind : {PositionBias::alibi, PositionBias::buckets}) {
    ParameterMaker make(at::kFloat, at::kCPU, 1);
    GroupedQueryAttention block(make, options_of(kind));
    EXPECT_THAT(
        test::error_of([&] { block.set_core(std::make_shared<RingAttention>(nullptr, TokenOrder::zigzag)); }),
        AllOf(HasSubstr("ring attention"), HasSubstr("parallelism.context.attention: ulysses")));
    EXPECT_NO_THROW(block.set_core(std::make_shared<UlyssesAttention>(nullptr, TokenOrder::zigzag)));
  }
  ParameterMaker make(at::kFloat, at::kCPU, 1);
  GroupedQueryAttention plain(make, options_of(PositionBias::none));
  EXPECT_NO_THROW(plain.set_core(std::make_shared<RingAttention>(nullptr, TokenOrder::zigzag)));
}

}  // namespace
}  // namespace d9d::test
