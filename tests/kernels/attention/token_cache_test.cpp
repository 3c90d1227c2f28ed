// What is computed with a cache against the same over whole sequences.
#include "kernels/attention/token_cache.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/delta_rule.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::CacheStretches;

constexpr std::int64_t room = 24;

// Tokens first .. first + count of whole [1, S, H, D].
at::Tensor tokens_of(const at::Tensor& whole, std::int64_t first, std::int64_t count) {
  return whole[0].narrow(0, first, count);
}

struct Sequence {
  at::Tensor q, k, v;  // [1, S, H, D]
};

Sequence sequence(std::int64_t length, std::uint64_t seed, at::ScalarType dtype) {
  return {values({1, length, 6, 20}, seed, dtype), values({1, length, 2, 20}, seed + 1, dtype),
          values({1, length, 2, 72}, seed + 2, dtype)};
}

// Passes of several tokens and of one; the second sequence is shorter and begins later.
void expect_attention(at::ScalarType dtype, std::int64_t window) {
  const Sequence a = sequence(17, 1, dtype), b = sequence(9, 4, dtype);
  const at::Tensor keys = at::full({3, 2, room, 20}, 7, dtype), into = at::full({3, 2, room, 72}, 7, dtype);
  kernels::AttentionMask mask = kernels::causal_mask;
  if (window > 0) mask.before = window - 1;
  const at::Tensor whole_a = kernels::attention(a.q, a.k, a.v, mask, 0.3),
                   whole_b = kernels::attention(b.q, b.k, b.v, mask, 0.3);
  std::int64_t past_a = 0, past_b = 0;
  for (const auto& [of_a, of_b] : {std::pair{15, 0}, {1, 3}, {1, 1}, {0, 5}}) {
    CacheStretches stretches;
    if (of_b > 0) stretches.push_back({0, past_b, of_b});
    if (of_a > 0) stretches.push_back({2, past_a, of_a});
    const auto packed = [&](const at::Tensor& in_a, const at::Tensor& in_b) {
      return at::cat({tokens_of(in_b, past_b, of_b), tokens_of(in_a, past_a, of_a),
                      at::ones_like(in_a[0][0].unsqueeze(0))});
    };
    kernels::write_cache(packed(a.k, b.k), keys, stretches);
    kernels::write_cache(packed(a.v, b.v), into, stretches);

    const at::Tensor out = kernels::cached_attention(packed(a.q, b.q), keys, into, stretches, window, 0.3);

    ASSERT_EQ(out.sizes(), (std::vector<std::int64_t>{of_a + of_b + 1, 6, 72}));
    const at::Tensor expected = at::cat({tokens_of(whole_b, past_b, of_b), tokens_of(whole_a, past_a, of_a)});
    expect_close(out.narrow(0, 0, of_a + of_b), expected, tolerance(dtype), "attention");
    EXPECT_EQ(out[of_a + of_b].abs().max().item<double>(), 0);
    past_a += of_a;
    past_b += of_b;
  }
}

TEST(TokenCache, AttendsAsOverWholeSequences) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const std::int64_t window : {0, 1, 5}) expect_attention(dtype, window);
  }
}

TEST(TokenCache, StepsOfTheDeltaRuleAreThatOfWholeSequences) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto sums = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const kernels::DeltaRuleOptions options{.scale = 0.4, .normalise = true, .chunk = 4};
    const std::int64_t length = 11;
    const at::Tensor q = values({1, length, 2, 12}, 1, dtype), k = values({1, length, 2, 12}, 2, dtype),
                     v = values({1, length, 4, 10}, 3, dtype),
                     decay = values({1, length, 4}, 4, sums).abs().neg(),
                     beta = values({1, length, 4}, 5, sums).sigmoid();
    const at::Tensor expected = kernels::gated_delta_rule(q, k, v, decay, beta, options);
    const at::Tensor state = at::zeros({2, 4, 12, 10}, sums);
    state[0].fill_(3);  // of another sequence

    std::vector<at::Tensor> outs;
    std::int64_t past = 0;
    for (const std::int64_t count : {6, 1, 1, 3}) {
      const auto of = [&](const at::Tensor& x) { return tokens_of(x, past, count); };
      outs.push_back(kernels::delta_rule_steps(of(q), of(k), of(v), of(decay), of(beta), state,
                                               {{1, past, count}}, options));
      past += count;
    }

    expect_close(at::cat(outs), expected[0], tolerance(dtype), "delta rule");
    EXPECT_TRUE(state[0].eq(3).all().item<bool>());
  }
}

TEST(TokenCache, RefusesTokensThatHaveNoPlace) {
  const at::Tensor rows = at::zeros({3, 2, 4}), cache = at::zeros({2, 2, 8, 4});

  EXPECT_NO_THROW(kernels::write_cache(rows, cache, {{1, 5, 3}}));
  for (const kernels::CacheStretch& stretch :
       CacheStretches{{1, 6, 3}, {2, 0, 3}, {-1, 0, 3}, {1, -1, 3}, {1, 0, 4}}) {
    EXPECT_THROW(kernels::write_cache(rows, cache, {stretch}), c10::Error);
  }
  EXPECT_THROW(kernels::write_cache(rows, at::zeros({2, 3, 8, 4}), {{1, 0, 3}}), c10::Error);
  EXPECT_THROW(kernels::cached_attention(rows, cache, cache.to(at::kDouble), {{1, 0, 3}}, 0, 1), c10::Error);
}

}  // namespace
}  // namespace d9d::test
