#include "runtime/tokenizer/model/unigram_model.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

Ids unigram_ids(const nlohmann::json& root, std::string_view word) {
  const UnigramModel model({root, "model"});
  ModelScratch scratch;
  Ids ids;
  model.encode(word, scratch, ids);
  return ids;
}

nlohmann::json unigram(const char* vocab, const char* more = R"("unk_id": 0)") {
  return nlohmann::json::parse(std::string(R"({"type": "Unigram", "vocab": )") + vocab + ", " + more + "}");
}

// The sum of scores of the best way to cut `text`, by trying all of them.
double best_score(const nlohmann::json& root, std::string_view text) {
  if (text.empty()) return 0;
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& entry : root["vocab"]) {
    const auto token = entry[0].get<std::string>();
    if (!text.starts_with(token)) continue;
    best = std::max(best, entry[1].get<double>() + best_score(root, text.substr(token.size())));
  }
  return best;
}

TEST(UnigramModel, CutsWhereTheSumOfScoresIsHighest) {
  const auto root = unigram(R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -3], ["abc", -2], ["c", -1.5]])");

  EXPECT_THAT(unigram_ids(root, "ab"), ElementsAre(1, 2));
  EXPECT_THAT(unigram_ids(root, "abc"), ElementsAre(4));
  EXPECT_THAT(unigram_ids(root, "abca"), ElementsAre(4, 1));
}

TEST(UnigramModel, ReachesTheBestOfAllWays) {
  std::mt19937 random(5);
  nlohmann::json root = unigram(R"([["<unk>", -50], ["a", -4], ["b", -4.25], ["c", -4.5]])");
  for (const char* token : {"ab", "ba", "cc", "abc", "cab", "bcb", "aabb", "ccca"}) {
    root["vocab"].push_back({token, -5.0 - static_cast<double>(random() % 64) / 8});
  }

  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (std::size_t length = 1 + random() % 10; length > 0; --length)
      word += static_cast<char>('a' + random() % 3);
    double score = 0;
    for (const std::int32_t id : unigram_ids(root, word))
      score += root["vocab"][static_cast<std::size_t>(id)][1].get<double>();
    EXPECT_NEAR(score, best_score(root, word), 1e-9) << word;
  }
}

TEST(UnigramModel, MakesOneUnknownTokenOfUnknownCharactersInARow) {
  const auto root = unigram(R"([["<unk>", 0], ["a", -1]])");

  EXPECT_THAT(unigram_ids(root, "éxa漢"), ElementsAre(0, 1, 0));
}

TEST(UnigramModel, FallsBackToBytes) {
  nlohmann::json root = unigram(R"([["<unk>", 0], ["a", -1]])", R"("unk_id": 0, "byte_fallback": true)");
  for (int byte = 0; byte < 256; ++byte) root["vocab"].push_back({fmt::format("<0x{:02X}>", byte), 0});

  EXPECT_THAT(unigram_ids(root, "aé"), ElementsAre(1, 2 + 0xC3, 2 + 0xA9));
}

TEST(UnigramModel, NamesTheCharacterWhereItHasNoUnknownToken) {
  EXPECT_THROW(unigram_ids(unigram(R"([["a", -1]])", R"("unk_id": null)"), "ab"), Error);
}

}  // namespace
}  // namespace d9d
