#include "runtime/data/bpe/pre_tokenizer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

std::vector<std::string> words_of(const char* json, std::string_view text) {
  const nlohmann::json root = nlohmann::json::parse(json);
  const PreTokenizer pre_tokenizer = PreTokenizer::from_json({root, "pre_tokenizer"});
  PreTokenizerScratch scratch;
  RegexScratch regex;
  const auto& words = pre_tokenizer.split(text, scratch, regex);
  return {words.begin(), words.end()};
}

// What the tokenizers library does, tried with every character: its tables of punctuation are of Unicode 8.
TEST(PreTokenizer, KnowsThePunctuationOfUnicodeEight) {
  constexpr const char* punctuation = R"({"type": "Punctuation"})";

  for (const std::string sign :
       {"!", "[", "`", "\u00a1", "\u060c", "\u3002", "\u2e42", "\u166d", "\U000111c9"}) {
    EXPECT_EQ(words_of(punctuation, "a" + sign + "b"), (std::vector<std::string>{"a", sign, "b"})) << sign;
  }
  for (const std::string later : std::initializer_list<const char*>{"\u061d", "\u2e43", "\u2e5d", "\u1b7e",
                                                                    "\U0001e95e", "\U00010f57"}) {
    EXPECT_EQ(words_of(punctuation, "a" + later + "b"), (std::vector<std::string>{"a" + later + "b"}))
        << later;
  }
}

}  // namespace
}  // namespace d9d
