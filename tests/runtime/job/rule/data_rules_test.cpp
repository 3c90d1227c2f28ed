#include "runtime/job/rule/data_rules.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_job::error_of;

const std::string synthetic = "{weight: 1, source: synthetic, sequence_length: 32, vocab_size: 512}";

std::string mixture(const std::string& part) {
  return "data={source: mixture, parts: [" + synthetic + ", " + part + "]}";
}
std::string text_part(const std::string& more = "") {
  return "{weight: 1, source: text, files: [a], tokenizer: t.json, sequence_length: 32" + more + "}";
}

TEST(DataRules, LookAtEveryPartOfAMixture) {
  EXPECT_THAT(error_of({mixture("{weight: 1, source: synthetic, sequence_length: 32, vocab_size: 1024}")}),
              HasSubstr("data.parts.1.vocab_size: 1024 tokens, but the model's vocabulary has 512"));
  EXPECT_THAT(error_of({mixture("{weight: 1, source: syntetic}")}),
              HasSubstr("data.parts.1.source: \"syntetic\" is not known; did you mean \"synthetic\"?"));
  EXPECT_THAT(error_of({mixture("{weight: 1, source: mixture, parts: []}")}),
              HasSubstr("data.parts.1.source: a mixture in a mixture is not supported"));
  EXPECT_THAT(error_of({"data={source: mixture, parts: []}"}), HasSubstr("data.parts: an empty list"));
  EXPECT_EQ(error_of({mixture(text_part())}), "no error");
}

TEST(DataRules, WantOneTokenizer) {
  EXPECT_THAT(error_of({"data={source: mixture, parts: [" + text_part() +
                        ", {weight: 2, source: text, files: [b], "
                        "tokenizer: u.json, sequence_length: 32}]}"}),
              HasSubstr("data.parts.1.tokenizer: u.json, but another part has t.json"));
}

TEST(DataRules, ASourceOfAPluginNeedsThePlugin) {
  EXPECT_THAT(error_of({"data={source: mine}"}), HasSubstr("data.source: \"mine\" is not known"));
  EXPECT_EQ(error_of({"data={source: mine}", "plugins=[libmine.so]"}), "no error");
}

TEST(DataRules, PartsAreWarnedOfKeysWithoutEffect) {
  const auto loaded = testing_job::load({mixture(text_part(", seed: 4"))});

  EXPECT_THAT(loaded.warnings,
              ElementsAre(HasSubstr("data.parts.1.seed: has no effect: the order is the files'")));
}

}  // namespace
}  // namespace d9d
