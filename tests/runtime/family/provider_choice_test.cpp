#include "runtime/family/provider_choice.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/family/families.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using config::Codec;
using testing::AllOf;
using testing::HasSubstr;

ModelSection read_llama_section(const char* text, config::Problems& problems) {
  ModelSection section = blank_section(*find_family("llama"));
  Codec<ModelSection>::read(section, config::parse(text, "job.yaml"), config::Path{nullptr, "model"},
                            problems);
  return section;
}

TEST(ModelSection, HasTheKeysGivenAndNullForTheOthers) {
  config::Problems problems;
  const auto keys = read_llama_section("{hidden_size: 8, mlp_bias: true}", problems).keys;
  problems.throw_if_any();

  EXPECT_EQ(keys["hidden_size"], 8);
  EXPECT_EQ(keys["mlp_bias"], true);
  EXPECT_TRUE(keys.contains("vocab_size") && keys["vocab_size"].is_null());
  EXPECT_EQ(keys.begin().key(), "hidden_size");
  EXPECT_EQ(keys.size(), 40U) << "38 of all families, mlp_bias, pretraining_tp";
}

TEST(ModelSection, SaysWhatIsWrongWithAKey) {
  config::Problems problems;
  read_llama_section("{hidden_size: 0, rms_norm_eps: -1, q_lora_rank: 3, use_cache: true}", problems);

  EXPECT_THAT(test::error_of([&] { problems.throw_if_any(); }),
              AllOf(HasSubstr("model.hidden_size: 0 is out of range; give a value >= 1"),
                    HasSubstr("model.rms_norm_eps: -1 is out of range; give a value > 0, or null (1e-6)"),
                    HasSubstr("model.q_lora_rank: unknown key")));
  ASSERT_EQ(problems.warnings().size(), 1U);
  EXPECT_THAT(config::to_string(problems.warnings()[0]),
              HasSubstr("model.use_cache: has no effect: training has no cache"));
}

TEST(ModelSection, IsOneTableOfAllFamiliesInTheReference) {
  config::Reference reference;
  Codec<ModelSection>::tables(reference, "model", {});
  const std::string text = reference.markdown();

  EXPECT_THAT(
      text, HasSubstr("| `model.hidden_size` | int or null, >= 1 | `null` |  | width of the residual stream; "
                      "required without `from` |"));
  EXPECT_THAT(text, HasSubstr("| `model.mlp_bias` | bool or null | `null` |  | biases on the gate, up and "
                              "down projections; null: false (llama) |"));
  EXPECT_THAT(text, HasSubstr("## `model.layer with name: qwen3_moe`"));
  EXPECT_EQ(text.find("`model.hidden_size`"), text.rfind("`model.hidden_size`"));
}

}  // namespace
}  // namespace d9d::test
