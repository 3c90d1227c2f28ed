#include "runtime/tokenizer/model/bpe_model.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> bpe_ids(const char* json, std::string_view word) {
  const nlohmann::json root = nlohmann::json::parse(json);
  const BpeModel model({root, "model"}, false);
  ModelScratch scratch;
  std::vector<std::int32_t> ids;
  model.encode(word, scratch, ids);
  return ids;
}

TEST(BpeModel, MergesUnitsWithAPrefixInsideAndASuffixAtTheEnd) {
  constexpr const char* model =
      R"({"vocab": {"a": 0, "##b": 1, "##b!": 2, "ab": 3, "ab!": 4, "a!": 5, "##é!": 6},
      "merges": [["a", "##b"], ["a", "##b!"]], "continuing_subword_prefix": "##", "end_of_word_suffix": "!"})";

  EXPECT_THAT(bpe_ids(model, "ab"), ElementsAre(4));
  EXPECT_THAT(bpe_ids(model, "abb"), ElementsAre(3, 2));
  EXPECT_THAT(bpe_ids(model, "a"), ElementsAre(5));
  EXPECT_THAT(bpe_ids(model, "aé"), ElementsAre(0, 6));
}

TEST(BpeModel, RefusesBytesInsteadOfUnitsThatHaveAPrefix) {
  const nlohmann::json root = nlohmann::json::parse(
      R"({"vocab": {"a": 0}, "merges": [], "continuing_subword_prefix": "##", "byte_fallback": true})");

  EXPECT_THAT(test::error_of(
                  [&] {
                    BpeModel({root, "model"}, false);
                  },
                  ErrorKind::input),
              testing::HasSubstr("model: byte_fallback with a prefix or suffix is not supported"));
}

}  // namespace
}  // namespace d9d
