// Which bytes of a text each token was made of (expect.spans.json).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

const std::string folder_of_spans = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/";

TEST(TokenSpansGolden, AreThoseOfTheTokenizersLibrary) {
  std::ifstream file(folder_of_spans + "expect.spans.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::map<std::string, Tokenizer> tokenizers;

  ASSERT_GT(cases.size(), 150u);
  for (const auto& expected : cases) {
    const auto kind = expected["kind"].get<std::string>();
    auto found = tokenizers.find(kind);
    if (found == tokenizers.end()) {
      found = tokenizers.emplace(kind, Tokenizer::from_file(folder_of_spans + kind + ".json")).first;
    }
    const EncodedText encoded = found->second.encode_with_spans(expected["text"].get<std::string>(), false);
    EXPECT_EQ(encoded.ids, expected["ids"].get<std::vector<std::int32_t>>()) << kind << expected["text"];
    auto spans = nlohmann::json::array();
    for (const TokenSpan& span : encoded.spans) spans.push_back({span.begin, span.end});
    EXPECT_EQ(spans, expected["spans"]) << kind << " " << expected["text"] << expected["ids"];
  }
}

}  // namespace
}  // namespace d9d
