#include "runtime/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace d9d {
namespace {

const std::string golden_folder = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/";

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

class TokenizerGolden : public testing::TestWithParam<const char*> {
 protected:
  const Tokenizer tokenizer_ = Tokenizer::from_file(golden_folder + GetParam() + ".json");
  const nlohmann::json cases_ = read_json(golden_folder + "expect." + GetParam() + ".json");
};

TEST_P(TokenizerGolden, GivesTheIdsOfTheTokenizersLibrary) {
  const auto scratch = tokenizer_.make_scratch();

  ASSERT_GT(cases_.size(), 150u);
  for (const auto& expected : cases_) {
    const auto text = expected["text"].get<std::string>();
    std::vector<std::int32_t> ids;
    tokenizer_.encode(text, false, *scratch, ids);
    EXPECT_EQ(ids, expected["ids"].get<std::vector<std::int32_t>>()) << expected["text"];
  }
}

TEST_P(TokenizerGolden, PutsTheSameSpecialTokensAroundTheText) {
  for (const auto& expected : cases_) {
    const auto& special = expected.contains("ids_special") ? expected["ids_special"] : expected["ids"];
    EXPECT_EQ(tokenizer_.encode(expected["text"].get<std::string>(), true),
              special.get<std::vector<std::int32_t>>());
  }
}

TEST_P(TokenizerGolden, DecodesToTheTextOfTheTokenizersLibrary) {
  for (const auto& expected : cases_) {
    const auto ids = expected["ids"].get<std::vector<std::int32_t>>();
    const auto& special = expected.contains("ids_special") ? expected["ids_special"] : expected["ids"];
    const auto& decoded = expected.contains("decoded") ? expected["decoded"] : expected["text"];
    const auto& all = expected.contains("decoded_all") ? expected["decoded_all"] : decoded;

    EXPECT_EQ(tokenizer_.decode(ids), decoded.get<std::string>()) << expected["text"];
    EXPECT_EQ(tokenizer_.decode(special.get<std::vector<std::int32_t>>(), false), all.get<std::string>())
        << expected["text"];
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGolden,
                         testing::Values("qwen", "gpt2", "template", "scripts", "characters", "fallback",
                                         "bert", "cased", "roberta", "unigram", "first", "pieces", "llama",
                                         "prepend", "gemma", "clip", "affixes", "words"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace d9d
