#include "runtime/tokenizer/model/word_piece_model.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> word_piece_ids(std::string_view word) {
  const nlohmann::json root = nlohmann::json::parse(
      R"({"vocab": {"[UNK]": 0, "un": 1, "una": 2, "##ble": 3, "##b": 4, "é": 5, "##é": 6, "##": 7},
          "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 6})");
  const WordPieceModel model({root, "model"});
  ModelScratch scratch;
  std::vector<std::int32_t> ids;
  model.encode(word, scratch, ids);
  return ids;
}

TEST(WordPieceModel, TakesTheLongestPieceEachTime) {
  EXPECT_THAT(word_piece_ids("unable"), ElementsAre(2, 3));
  EXPECT_THAT(word_piece_ids("unb"), ElementsAre(1, 4));
  EXPECT_THAT(word_piece_ids("éé"), ElementsAre(5, 6));
}

TEST(WordPieceModel, DoesNotGoBackToAShorterPiece) {
  // una would have to be un for the word to end in known pieces: "un" + "##a..." does not exist either.
  EXPECT_THAT(word_piece_ids("unaun"), ElementsAre(0));
  EXPECT_THAT(word_piece_ids("ble"), ElementsAre(0));
}

TEST(WordPieceModel, CountsCharactersForItsLimit) {
  EXPECT_THAT(word_piece_ids("éééééé"), ElementsAre(5, 6, 6, 6, 6, 6));
  EXPECT_THAT(word_piece_ids("ééééééé"), ElementsAre(0));
}

}  // namespace
}  // namespace d9d
