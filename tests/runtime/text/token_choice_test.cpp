#include "runtime/text/token_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace d9d::test {
namespace {

// Logits with these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 3));
  return logits;
}

// How often each id is chosen, over a grid of uniforms.
std::vector<double> shares(const std::vector<float>& logits, const TokenChoice& choice) {
  std::vector<double> seen(logits.size());
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i)
    seen[static_cast<std::size_t>(choose_token(logits, choice, (i + 0.5) / draws))] += 1.0 / draws;
  return seen;
}

void expect_shares(const std::vector<double>& seen, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-3) << i;
}

const std::vector<double> probabilities{0.1, 0.4, 0.05, 0.3, 0.15};

TEST(ChooseToken, TakesTheFirstOfTheMostLikelyAtTemperatureZero) {
  EXPECT_EQ(choose_token(std::vector<float>{1, 4, 2, 4}, {.temperature = 0}, 0.99), 1);
}

// By hand: transformers' RepetitionPenaltyLogitsProcessor.
TEST(ChooseToken, PenalisesATokenOnceHoweverOftenItOccurs) {
  std::vector<float> logits{2, -2, 0, 5, -1};
  penalise(logits, std::vector<std::int64_t>{0, 1, 0}, std::vector<std::int64_t>{1, 2}, 2.0);
  EXPECT_EQ(logits, (std::vector<float>{1, -4, 0, 5, -1}));
}

TEST(ChooseToken, DrawsByProbability) {
  expect_shares(shares(logits_of(probabilities), {}), probabilities);
}

TEST(ChooseToken, SharpensByTemperature) {
  std::vector<double> squares;
  for (const double p : probabilities) squares.push_back(p * p);
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  for (double& square : squares) square /= sum;

  expect_shares(shares(logits_of(probabilities), {.temperature = 0.5}), squares);
}

TEST(ChooseToken, KeepsTheMostLikely) {
  expect_shares(shares(logits_of(probabilities), {.top_k = 2}), {0, 0.4 / 0.7, 0, 0.3 / 0.7, 0});
  expect_shares(shares(logits_of(probabilities), {.top_k = 9}), probabilities);
}

// The fewest whose probabilities reach the share; of those that top_k has left.
TEST(ChooseToken, KeepsTheNucleus) {
  expect_shares(shares(logits_of(probabilities), {.top_p = 0.75}),
                {0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85});
  expect_shares(shares(logits_of(probabilities), {.top_p = 0.39}), {0, 1, 0, 0, 0});
  expect_shares(shares(logits_of(probabilities), {.top_k = 2, .top_p = 0.5}), {0, 1, 0, 0, 0});
}

TEST(ChooseToken, FindsANucleusOfManyTokens) {
  const std::vector<float> even(1000, 2.0F);

  const std::vector<double> seen = shares(even, {.top_p = 0.3005});

  for (std::size_t i = 0; i < even.size(); ++i) EXPECT_NEAR(seen[i], i <= 300 ? 1.0 / 301 : 0, 1e-4) << i;
}

TEST(ChooseToken, UniformsAreOfSeedSampleAndPosition) {
  const TokenChoice choice{.seed = 5};
  const double one = uniform_of(choice, 3, 7);

  EXPECT_EQ(uniform_of(choice, 3, 7), one);
  EXPECT_NE(uniform_of(choice, 3, 8), one);
  EXPECT_NE(uniform_of(choice, 4, 7), one);
  EXPECT_NE(uniform_of({.seed = 6}, 3, 7), one);
}

// By hand: log of the probabilities above; at the temperature 2 their square roots, normalised.
TEST(LogProbOf, IsThatOfTheSoftmaxAtTheTemperature) {
  const auto logits = logits_of(probabilities);
  double roots = 0;
  for (const double p : probabilities) roots += std::sqrt(p);
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    EXPECT_NEAR(log_prob_of(logits, id, 1), std::log(probabilities[i]), 1e-6);
    EXPECT_NEAR(log_prob_of(logits, id, 2), std::log(std::sqrt(probabilities[i]) / roots), 1e-6);
    EXPECT_EQ(log_prob_of(logits, id, 0), log_prob_of(logits, id, 1)) << "no choice";
  }
}

TEST(LogProbOf, IsFiniteForLogitsThatExpCannotHold) {
  EXPECT_NEAR(log_prob_of(std::vector<float>{1e4F, 1e4F - 200}, 1, 1), -200, 1e-3);
}

}  // namespace
}  // namespace d9d::test
