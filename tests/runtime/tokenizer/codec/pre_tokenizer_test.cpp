#include "runtime/tokenizer/codec/pre_tokenizer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

std::vector<std::string> words_of(const char* json, std::string_view text, bool at_begin = true) {
  const nlohmann::json root = nlohmann::json::parse(json);
  const PreTokenizer pre_tokenizer = PreTokenizer::from_json({root, "pre_tokenizer"});
  PreTokenizerScratch scratch;
  RegexScratch regex;
  const auto& words = pre_tokenizer.split(text, at_begin, scratch, regex);
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

TEST(PreTokenizer, PutsAMetaspaceBeforeTheFirstWordTheWayItsSchemeSays) {
  const auto words = [](const std::string& scheme, const char* text, bool at_begin = true) {
    const std::string json =
        R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": ")" + scheme + R"("})";
    return words_of(json.c_str(), text, at_begin);
  };
  using Words = std::vector<std::string>;

  EXPECT_EQ(words("always", "a b", false), (Words{"_a", "_b"}));
  EXPECT_EQ(words("always", " a"), (Words{"_a"}));
  EXPECT_EQ(words("always", "_a  b_"), (Words{"_a", "_", "_b", "_"}));
  EXPECT_EQ(words("first", "a b"), (Words{"_a", "_b"}));
  EXPECT_EQ(words("first", "a b", false), (Words{"a", "_b"}));
  EXPECT_EQ(words("never", "a b"), (Words{"a", "_b"}));
}

TEST(PreTokenizer, PutsAMetaspaceBeforeOneWordOrEachOfThoseCutBefore) {
  const auto words = [](const std::string& more) {
    const std::string json = R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "_")" +
                             more + "}]}";
    return words_of(json.c_str(), "a b");
  };

  EXPECT_EQ(words(""), (std::vector<std::string>{"_a", "_b"}));
  EXPECT_EQ(words(R"(, "prepend_scheme": "first")"), (std::vector<std::string>{"_a", "b"}));
  EXPECT_EQ(words(R"(, "add_prefix_space": false)"), (std::vector<std::string>{"a", "b"}));
}

TEST(PreTokenizer, LeavesATextWholeWhereMetaspaceDoesNotSplit) {
  EXPECT_EQ(words_of(R"({"type": "Metaspace", "replacement": "_", "split": false})", "a b c"),
            (std::vector<std::string>{"_a_b_c"}));
}

TEST(PreTokenizer, CutsAsBertAtSpacesAndAroundSigns) {
  EXPECT_EQ(words_of(R"({"type": "BertPreTokenizer"})", " don't\tgo!? "),
            (std::vector<std::string>{"don", "'", "t", "go", "!", "?"}));
}

}  // namespace
}  // namespace d9d
