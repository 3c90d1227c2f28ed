#include "runtime/text/chosen_tokens.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
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

TEST(ChosenTokens, SayTheirLogProbabilitiesWhereSomebodyAsks) {
  const at::Tensor logits = at::rand({3, 50});
  const TokenChoice choice{.temperature = 0.7, .top_p = 0.5, .seed = 7};
  const std::vector<TokenPlace> places{{4, 0}, {5, 2}, {6, 1}};
  std::vector<float> log_probs;

  const auto chosen = chosen_tokens(logits, places, choice, &log_probs);

  EXPECT_EQ(chosen, chosen_tokens(logits, places, choice));
  const at::Tensor expected = at::log_softmax(logits.to(at::kDouble) / 0.7, 1);
  ASSERT_EQ(log_probs.size(), 3U);
  for (std::int64_t row = 0; row < 3; ++row)
    EXPECT_NEAR(log_probs[static_cast<std::size_t>(row)],
                expected[row][chosen[static_cast<std::size_t>(row)]].item<double>(), 1e-6);
}

}  // namespace
}  // namespace d9d
