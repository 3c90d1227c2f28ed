#include "runtime/tokenizer/train/bpe_trainer.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

TrainedBpe trained_on(const std::string& text, const BpeTraining& training) {
  WordCounts words;
  words.add(text);
  return train_bpe(words, training);
}

std::vector<std::string> learnt(const TrainedBpe& trained) {
  std::vector<std::string> merges;
  for (const auto& [first, second] : trained.merges)
    merges.push_back(trained.tokens[first] + "+" + trained.tokens[second]);
  return merges;
}

// Sennrich's example: low 5 times, lower 2, newest 6, widest 3. "es" and "st" are in nine words, "es" has the smaller
// ids; then "est"; "lo" in seven, then "low".
TEST(BpeTrainer, LearnsThePairsOfTheKnownExample) {
  std::string text;
  for (const auto& [word, count] : {std::pair{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}) {
    for (int i = 0; i < count; ++i) text += std::string(word) + "\n";
  }

  const TrainedBpe trained = trained_on(text, {.vocab_size = 260});

  EXPECT_THAT(learnt(trained), ElementsAre("e+s", "es+t", "l+o", "lo+w"));
}

TEST(BpeTrainer, StopsWhereNoPairIsFrequentEnough) {
  const TrainedBpe trained = trained_on("ab ab cd", {.vocab_size = 1000, .min_frequency = 2});

  EXPECT_THAT(learnt(trained), ElementsAre("a+b"));
  EXPECT_EQ(trained.tokens.size(), 257U);
}

// "aaaa" is two pairs, not three, so one is left for the second merge.
TEST(BpeTrainer, CountsRunsWithoutOverlap) {
  const TrainedBpe trained = trained_on("aaaa\naaaa", {.vocab_size = 1000, .min_frequency = 1});

  EXPECT_THAT(learnt(trained), ElementsAre("a+a", "aa+aa"));
  EXPECT_EQ(trained.num_tokens, 3U);  // two words and the end of a line
}

TEST(BpeTrainer, PutsSpecialTokensFirstAndOnce) {
  const TrainedBpe trained =
      trained_on("x", {.vocab_size = 300, .special_tokens = {"<end>", "<pad>", "<end>"}});

  EXPECT_EQ(trained.tokens.at(0), "<end>");
  EXPECT_EQ(trained.tokens.at(1), "<pad>");
  EXPECT_EQ(trained.tokens.at(2), "!");
  EXPECT_EQ(trained.tokens.size(), 258U);
}

TEST(BpeTrainer, RefusesAVocabularyWithoutRoomForTheBytes) {
  EXPECT_EQ(test::error_of([] { trained_on("x", {.vocab_size = 256, .special_tokens = {"<end>"}}); },
                           ErrorKind::input),
            "a vocabulary of 256 tokens is too small: the 256 bytes and the special tokens need 257; give "
            "at least so many");
}

}  // namespace
}  // namespace d9d
