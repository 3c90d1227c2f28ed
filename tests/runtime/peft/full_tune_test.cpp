#include "runtime/peft/full_tune.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/peft/adapted_stage.hpp"

namespace d9d::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

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
