#include "runtime/tokenizer/codec/decoder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

std::string decoded(const char* json, std::vector<std::string> tokens) {
  const nlohmann::json root = nlohmann::json::parse(json);
  return Decoder::from_json({root, "decoder"}).decode(std::move(tokens));
}

TEST(Decoder, JoinsWordPiecesAndTidiesEnglish) {
  constexpr const char* tidy = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";
  constexpr const char* plain = R"({"type": "WordPiece", "prefix": "##", "cleanup": false})";

  EXPECT_EQ(decoded(tidy, {"do", "n't", "un", "##able", "."}), "don't unable.");
  EXPECT_EQ(decoded(plain, {"##a", "n't", "un", "##able", "."}), "##a n't unable .");
}

TEST(Decoder, TurnsMetaspacesIntoBlanksButTheFirst) {
  constexpr const char* metaspace = R"({"type": "Metaspace", "replacement": "_")";

  EXPECT_EQ(decoded((metaspace + std::string("}")).c_str(), {"_a_", "_b"}), "a b");
  EXPECT_EQ(decoded((metaspace + std::string(R"(, "prepend_scheme": "never"})")).c_str(), {"_a", "_b"}),
            " a b");
}

TEST(Decoder, EndsWordsAtTheirSuffix) {
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a", "b</w>", "c</w>"}), "ab c");
}

}  // namespace
}  // namespace d9d
