// With SentencePiece's library only (CMakeLists.txt).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

class SentencePieceGolden : public testing::TestWithParam<const char*> {
 protected:
  static std::string path(const std::string& name) {
    return D9D_SOURCE_DIR "/tests/golden/tokenizer/" + name;
  }
  static nlohmann::json cases_in(const std::string& file) {
    std::ifstream in(file);
    return nlohmann::json::parse(in);
  }
  const Tokenizer tokenizer_ = Tokenizer::from_file(path(std::string(GetParam()) + ".model"));
  const nlohmann::json cases_ = cases_in(path("expect." + std::string(GetParam()) + ".json"));
};

TEST_P(SentencePieceGolden, GivesTheIdsAndTheTextOfItsPythonPackage) {
  ASSERT_GT(cases_.size(), 150u);
  for (const auto& expected : cases_) {
    const auto ids = expected["ids"].get<std::vector<std::int32_t>>();

    EXPECT_EQ(tokenizer_.encode(expected["text"].get<std::string>(), true), ids) << expected["text"];
    EXPECT_EQ(tokenizer_.decode(ids), expected["decoded"].get<std::string>()) << expected["text"];
  }
}

TEST_P(SentencePieceGolden, KnowsItsTokensByTextAndById) {
  EXPECT_EQ(tokenizer_.token_id("<s>"), 1);
  EXPECT_EQ(tokenizer_.token_text(2), "</s>");
  EXPECT_EQ(tokenizer_.token_id("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer_.token_text(tokenizer_.vocab_size()), std::nullopt);
  for (std::int32_t id = 0; id < tokenizer_.vocab_size(); ++id) {
    EXPECT_EQ(tokenizer_.token_id(*tokenizer_.token_text(id)), id);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SentencePieceGolden, testing::Values("piece_bpe", "piece_unigram"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace d9d
