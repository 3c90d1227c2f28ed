#include "runtime/train/optimizer/optimizer_provider.hpp"

#include <gtest/gtest.h>

#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

TEST(OptimizerProvider, OfABuiltInOptimizerSaysWhatTheJobSays) {
  const auto provider = provider_of(SgdOptions{.lr = 0.5, .rules = {{.match = "*.b"}, {.match = "*"}}});
  const std::vector<StageParameter> stage{make_parameter("a.w", {3})};
  const FlatParameters flat(stage, {});
  stage[0].tensor.mutable_grad().fill_(2);
  const float before = stage[0].tensor[0].item<float>();

  const auto optimizer = provider->make(flat, {});
  optimizer->step({.lr_multiplier = 0.1});

  EXPECT_EQ(provider->learning_rate(), 0.5);
  EXPECT_EQ(provider->rules().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<SgdOptions>(*provider->built_in()));
  EXPECT_FLOAT_EQ(stage[0].tensor[0].item<float>(), before - 0.5F * 0.1F * 2);
}

}  // namespace
}  // namespace d9d
