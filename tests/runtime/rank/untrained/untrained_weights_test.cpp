#include "runtime/rank/untrained/untrained_weights.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

namespace d9d {
namespace {

using ::testing::HasSubstr;

std::vector<StageParameter> parameters(int count) {
  std::vector<StageParameter> all;
  for (int i = 0; i < count; ++i) {
    const at::Tensor tensor = at::ones({2}, at::kFloat).requires_grad_(i > 0);  // the first one is frozen
    all.push_back({"layer." + std::to_string(i), tensor, Layout::local({2}), {}});
  }
  return all;
}

TEST(UntrainedWeights, AreNamedWithTheirNumberAmongTheTrainable) {
  EXPECT_EQ(unreached_text(0, parameters(3), {}), "");
  EXPECT_THAT(unreached_text(1, parameters(3), {2}),
              HasSubstr("stage 1: 1 of 2 trainable parameters got no gradient in the first step and cannot "
                        "train: layer.2."));
}

TEST(UntrainedWeights, AreNotListedWithoutEnd) {
  std::vector<std::size_t> all;
  for (std::size_t i = 1; i < 40; ++i) all.push_back(i);

  EXPECT_THAT(unreached_text(0, parameters(40), all), HasSubstr("layer.8 and 31 more."));
}

TEST(UntrainedWeights, ThatWereNeverRegisteredHaveNoNameButAShape) {
  EXPECT_THAT(
      unregistered_text(0, {at::ones({2, 3})}),
      HasSubstr("depends on 1 tensor that is no parameter of the model, so no optimizer changes and no "
                "checkpoint has it: of the shape [2, 3]."));
}

}  // namespace
}  // namespace d9d
