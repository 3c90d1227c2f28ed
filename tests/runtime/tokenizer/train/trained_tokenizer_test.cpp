#include "runtime/tokenizer/train/trained_tokenizer.hpp"

#include <gtest/gtest.h>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

TEST(TrainedTokenizer, IsReadHereAndGivesEveryTextBack) {
  const std::string text = "In the beginning the word was the word. 12 \t\n\u4f60\u597d \xf0\x9f\x99\x82 end";
  WordCounts words;
  words.add(text);
  const std::vector<std::string> special{"<|endoftext|>"};
  const TrainedBpe trained = train_bpe(words, {.vocab_size = 280, .special_tokens = special});

  const auto tokenizer = Tokenizer::from_json(tokenizer_json(trained, special), "made here");

  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
  EXPECT_EQ(tokenizer.token_id("<|endoftext|>"), 0);
  EXPECT_EQ(tokenizer.encode("the<|endoftext|>", false).back(), 0);
  EXPECT_EQ(tokenizer.vocab_size(), static_cast<std::int32_t>(trained.tokens.size()));
}

}  // namespace
}  // namespace d9d
