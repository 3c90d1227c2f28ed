#include "runtime/peft/method.hpp"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include "runtime/peft/lora.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"

namespace d9d::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(PeftStack, AppliesItsMethodsInOrder) {
  const auto stage = adapted_stage(
      stack({FullTuneConfig{".*norm"}, FreezeConfig{R"(model\.norm)"}, FullTuneConfig{"lm_head"}}));

  const auto names = trainable(*stage);

  EXPECT_THAT(names, Contains("model.layers.0.input_layernorm.weight"));
  EXPECT_THAT(names, Contains("lm_head.weight"));
  EXPECT_THAT(names, Not(Contains("model.norm.weight")));
  EXPECT_THAT(names, Not(Contains("model.layers.0.self_attn.q_proj.weight")));
}

TEST(PeftStack, GivesALinearTheFirstAdapterThatMatchesIt) {
  const auto stage =
      adapted_stage(stack({lora(R"(model\.layers\.0\.self_attn\.q_proj)", 2), lora(".*q_proj", 5)}));

  const auto adapters = lora_adapters(*stage);

  ASSERT_EQ(adapters.size(), 2U);
  EXPECT_EQ(adapters[0].config.params.r, 2);
  EXPECT_EQ(adapters[1].config.params.r, 5);
}

TEST(PeftStack, MayHoldStacks) {
  const PeftConfig nested = stack({stack({lora(".*q_proj"), FullTuneConfig{"lm_head"}}), lora(".*k_proj")});

  EXPECT_EQ(methods_of(nested).size(), 3U);
  EXPECT_EQ(trainable(*adapted_stage(nested)).size(), 9U);
}

TEST(PeftStack, MergesAllOfItsAdapters) {
  const PeftConfig config = stack({lora(".*q_proj"), FullTuneConfig{"lm_head"}, lora(".*experts.*")});
  const auto stage = adapted_stage(config);
  const at::Tensor adapted = stage->forward(tiny_inputs(), tiny_labels()).at("cross_entropy").detach();

  merge_peft(*stage, *make_peft_method(config));

  const at::Tensor merged = stage->forward(tiny_inputs(), tiny_labels()).at("cross_entropy").detach();
  EXPECT_THAT(of_adapters(*stage), IsEmpty());
  EXPECT_LT((merged - adapted).abs().max().item<double>(), 1e-5);
}

TEST(InjectPeft, ChangesTheModulesOfEachStage) {
  const PeftConfig config = lora(R"(model\.layers\.\d+\.mlp\.gate)");

  EXPECT_THAT(of_adapters(*adapted_stage(config, {0, 2})), Contains("model.layers.0.mlp.gate.lora_A.weight"));
  EXPECT_THAT(of_adapters(*adapted_stage(config, {1, 2})), Contains("model.layers.1.mlp.gate.lora_A.weight"));
}

TEST(FullTune, TrainsAllParametersOfWhatMatches) {
  const auto stage = adapted_stage(FullTuneConfig{R"(model\.layers\.1\.self_attn)"});

  EXPECT_EQ(trainable(*stage).size(), 6U);  // q, k, v, o and two norms
  EXPECT_THAT(trainable(*stage), Contains("model.layers.1.self_attn.q_norm.weight"));
}

TEST(FullTune, TrainsAdaptersThatAreThereToo) {
  const auto stage =
      adapted_stage(stack({lora(".*q_proj"), FullTuneConfig{R"(model\.layers\.0\..*q_proj)"}}));

  EXPECT_EQ(trainable(*stage).size(), 5U);
}

TEST(Freeze, AloneLeavesTheRestTrainable) {
  const auto stage = adapted_stage(FreezeConfig{"(model|lm_head)"});
  const auto half = adapted_stage(FreezeConfig{R"(model\.embed_tokens|model\.layers\.0)"});

  EXPECT_THAT(trainable(*stage), ElementsAre());
  EXPECT_THAT(trainable(*half), Not(Contains("model.embed_tokens.weight")));
  EXPECT_THAT(trainable(*half), Not(Contains("model.layers.0.mlp.gate.weight")));
  EXPECT_THAT(trainable(*half), Contains("model.layers.1.mlp.gate.weight"));
  EXPECT_THAT(trainable(*half), Contains("lm_head.weight"));
}

}  // namespace
}  // namespace d9d::test
