#include "runtime/tokenizer/model/read_token_model.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

Ids ids_of(const std::string& json, std::string_view word) {
  const nlohmann::json root = nlohmann::json::parse(json);
  const auto model = read_token_model({root, "model"}, false);
  ModelScratch scratch;
  Ids ids;
  model->encode(word, scratch, ids);
  return ids;
}

std::string model_error(const std::string& json, bool byte_level = false) {
  const nlohmann::json root = nlohmann::json::parse(json);
  return test::error_of([&] { read_token_model({root, "model"}, byte_level); }, ErrorKind::input);
}

TEST(TokenModel, IsToldByItsKeysWhereAnOldFileHasNoType) {
  EXPECT_THAT(ids_of(R"({"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})", "ab"), ElementsAre(2));
  EXPECT_THAT(ids_of(R"({"vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "continuing_subword_prefix": "##"})", "ab"),
              ElementsAre(1, 2));
  EXPECT_THAT(ids_of(R"({"vocab": [["<unk>", 0], ["ab", -1]], "unk_id": 0})", "ab"), ElementsAre(1));
  EXPECT_THAT(ids_of(R"({"vocab": {"<unk>": 0, "ab": 1}})", "ab"), ElementsAre(1));
}

TEST(TokenModel, OfWholeWordsKnowsThemOrDoesNot) {
  const std::string model = R"({"type": "WordLevel", "vocab": {"?": 0, "ab": 1}, "unk_token": "?"})";

  EXPECT_THAT(ids_of(model, "ab"), ElementsAre(1));
  EXPECT_THAT(ids_of(model, "a"), ElementsAre(0));
}

TEST(TokenModel, RefusesWhatItCannotBeByName) {
  EXPECT_THAT(model_error(R"({"type": "Morse"})"), HasSubstr("model: the model Morse is not supported"));
  EXPECT_THAT(model_error("{}"), HasSubstr("the model (none) is not supported"));
  EXPECT_THAT(model_error(R"({"type": "Unigram", "vocab": []})", true),
              HasSubstr("the model Unigram after the pre-tokenizer ByteLevel"));
  EXPECT_THAT(model_error(R"({"type": "WordPiece", "vocab": {"a": 0}})"),
              HasSubstr("model.unk_token \"[UNK]\" is not in the vocabulary"));
  EXPECT_THAT(model_error(R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})"),
              HasSubstr("model.unk_id is 1, but the vocabulary has 1 tokens"));
  EXPECT_THAT(model_error(R"({"type": "Unigram", "vocab": [["a", "b"]]})"), HasSubstr("model.vocab[0]"));
  EXPECT_THAT(model_error(R"({"type": "Unigram", "vocab": [["a", 0]], "byte_fallback": true})"),
              HasSubstr("lacks some bytes"));
}

}  // namespace
}  // namespace d9d
