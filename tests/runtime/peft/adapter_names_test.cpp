#include "runtime/peft/adapter_names.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

LoraAdapter adapter_of(const std::string& pattern) {
  return lora_adapters(*adapted_stage(lora(pattern))).at(0);
}

TEST(AdapterNames, AreThoseOfPeft) {
  const auto mapper = tiny_mixture().to_hugging_face();

  const auto modules = modules_of(*mapper, adapter_of(".*q_proj").weight);

  ASSERT_EQ(modules.size(), 1U);
  EXPECT_FALSE(modules[0].expert);
  EXPECT_EQ(factor_names(modules[0]).a, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(factor_names(modules[0]).b, "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  EXPECT_EQ(factor_names(modules[0]).magnitudes,
            "base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector");
}

TEST(AdapterNames, OfExpertsAreOneByOne) {
  const auto mapper = tiny_mixture().to_hugging_face();

  const auto modules = modules_of(*mapper, adapter_of(".*experts.up_proj").weight);

  ASSERT_EQ(modules.size(), 4U);
  for (const AdaptedModule& module : modules) {
    ASSERT_TRUE(module.expert);
    EXPECT_EQ(module.path, "model.layers.0.mlp.experts." + std::to_string(*module.expert) + ".up_proj");
  }
}

TEST(AdapterNames, RefuseAWeightThatIsStoredWithOthers) {
  const LoraAdapter adapter = adapter_of(".*q_proj");
  const auto fused = concatenate({adapter.weight.name, "k.weight"}, "qk.weight", 0);

  EXPECT_THROW(modules_of(*fused, adapter.weight), Error);
}

TEST(AdapterNames, RefuseAWeightThatIsNoModules) {
  const LoraAdapter adapter = adapter_of(".*experts.up_proj");
  const auto whole = rename(adapter.weight.name, "model.layers.0.mlp.experts.up_proj");

  EXPECT_FALSE(has_modules(*whole, adapter.weight));
  EXPECT_TRUE(has_modules(*tiny_mixture().to_hugging_face(), adapter.weight));
  EXPECT_THAT(error_of([&] { modules_of(*whole, adapter.weight); }),
              testing::HasSubstr("experts.up_proj is no matrix of a module in a Hugging Face folder"));
}

}  // namespace
}  // namespace d9d::test
