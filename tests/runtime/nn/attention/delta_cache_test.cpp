#include "runtime/nn/attention/delta_cache.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/attention/short_convolution.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

constexpr std::int64_t taps = 4;

// Stretches of equal and of different lengths; the second sequence begins anew in the place of another one.
TEST(DeltaCache, ConvolvesAsOverWholeSequences) {
  const at::Tensor weight = values({6, 1, taps}, 3);
  const at::Tensor a = values({1, 9, 2, 3}, 1), b = values({1, 9, 2, 3}, 2), old = values({1, 2, 2, 3}, 7);
  const auto convolve = [&](const at::Tensor& x) { return kernels::short_convolution(x, weight, 0); };
  const at::Tensor whole_a = convolve(a), whole_b = convolve(b);
  DeltaCache cache({3, 16}, taps);
  cache.convolved(0, old, {{{2, 0, 2}}}, convolve);
  std::int64_t past_a = 0, past_b = 0;
  for (const auto& [of_a, of_b] : {std::pair{5, 2}, {1, 1}, {1, 1}, {2, 1}}) {
    const NewTokens tokens{{{0, past_a, of_a}, {2, past_b, of_b}}};
    const at::Tensor filling = at::ones({1, 1, 2, 3}, at::kDouble);

    const at::Tensor out = cache.convolved(
        0, at::cat({a.narrow(1, past_a, of_a), b.narrow(1, past_b, of_b), filling}, 1), tokens, convolve);

    expect_close(out.narrow(1, 0, of_a), whole_a.narrow(1, past_a, of_a), 1e-12, "first");
    expect_close(out.narrow(1, of_a, of_b), whole_b.narrow(1, past_b, of_b), 1e-12, "second");
    ASSERT_EQ(out.size(1), of_a + of_b + 1);
    past_a += of_a;
    past_b += of_b;
  }
}

TEST(DeltaCache, StatesAreZeroWhereASequenceBegins) {
  DeltaCache cache({2, 8}, taps);
  const at::Tensor like = at::zeros({1}, at::kDouble);
  cache.states({2, 3, 4}, like, {{{0, 0, 1}, {1, 0, 1}}}).fill_(5);

  const at::Tensor states = cache.states({2, 3, 4}, like, {{{0, 1, 1}, {1, 0, 2}}});

  EXPECT_EQ(states.sizes(), (std::vector<std::int64_t>{2, 2, 3, 4}));
  EXPECT_TRUE(states[0].eq(5).all().item<bool>());
  EXPECT_TRUE(states[1].eq(0).all().item<bool>());
}

}  // namespace
}  // namespace d9d::test
