#include "runtime/nn/attention/key_value_cache.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/attention/attention_bias.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

struct Heads {
  at::Tensor q, k, v;  // [1, S, H, D]

  explicit Heads(std::int64_t length, std::uint64_t seed)
      : q(values({1, length, 4, 8}, seed)),
        k(values({1, length, 2, 8}, seed + 1)),
        v(values({1, length, 2, 6}, seed + 2)) {}
};

// Long and short stretches in one pass, behind nothing and behind other tokens; then tokens of no sequence.
TEST(KeyValueCache, AttendsAsOverWholeSequences) {
  for (const auto& [window, has_sinks, has_bias] : {std::tuple{0, false, false},
                                                    {3, false, false},
                                                    {11, false, false},
                                                    {0, true, false},
                                                    {3, true, false},
                                                    {0, false, true},
                                                    {3, true, true}}) {
    SCOPED_TRACE(window);
    const Heads a(23, 1), b(12, 5);
    AttentionRule rule{0.7, window};
    if (has_bias) rule.bias = std::make_shared<AlibiBias>(4);
    if (has_sinks) rule.sinks = values({4}, 9);
    const at::Tensor whole_a = LocalAttention().attend(a.q, a.k, a.v, rule),
                     whole_b = LocalAttention().attend(b.q, b.k, b.v, rule);
    KeyValueCache cache({4, 23});
    std::int64_t past_a = 0, past_b = 0;
    for (const auto& [of_a, of_b] : {std::pair{9, 1}, {1, 2}, {12, 9}}) {
      const NewTokens tokens{{{3, past_a, of_a}, {1, past_b, of_b}}};
      const auto packed = [&](const at::Tensor& in_a, const at::Tensor& in_b) {
        return at::cat(
            {in_a.narrow(1, past_a, of_a), in_b.narrow(1, past_b, of_b), at::ones_like(in_a.narrow(1, 0, 2))},
            1);
      };

      const at::Tensor out =
          CachedAttention(cache, tokens).attend(packed(a.q, b.q), packed(a.k, b.k), packed(a.v, b.v), rule);

      expect_close(out.narrow(1, 0, of_a), whole_a.narrow(1, past_a, of_a), 1e-12, "first");
      expect_close(out.narrow(1, of_a, of_b), whole_b.narrow(1, past_b, of_b), 1e-12, "second");
      past_a += of_a;
      past_b += of_b;
    }
  }
}

TEST(KeyValueCache, IsNotOneOfAnotherBlock) {
  class Other final : public BlockCache {};
  Other other;
  const NewTokens tokens;

  EXPECT_THROW(CachedAttention(other, tokens), Error);
}

}  // namespace
}  // namespace d9d::test
