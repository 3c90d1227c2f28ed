#include "runtime/text/chosen_tokens.hpp"

#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(ChosenTokens, OfARowDependOnItsPlaceAlone) {
  const at::Tensor logits = at::rand({3, 50});
  const TokenChoice choice{.temperature = 1.5, .seed = 7};

  const auto together = chosen_tokens(logits, {{4, 0}, {5, 2}, {6, 1}}, choice);
  const auto alone = chosen_tokens(logits.narrow(0, 1, 1), {{5, 2}}, choice);

  EXPECT_EQ(together[1], alone[0]);
  EXPECT_EQ(chosen_tokens(logits, {{4, 0}, {5, 2}, {6, 1}}, {.temperature = 0})[2],
            logits[2].argmax().item<std::int64_t>());
}

}  // namespace
}  // namespace d9d
