#include "runtime/train/frozen_parameters.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

std::vector<StageParameter> adapted_stage() {
  std::vector<StageParameter> stage{make_parameter("q.weight", {32, 2}), make_parameter("q.lora_A", {2, 2}),
                                    make_parameter("k.weight", {16, 2}), make_parameter("odd.weight", {3, 3}),
                                    make_parameter("after.weight", {16})};
  for (const std::size_t frozen : {0, 2, 3, 4}) stage[frozen].tensor.requires_grad_(false);
  return stage;
}

TEST(FrozenParameters, LieInOneBufferOneBehindTheOther) {
  const auto stage = adapted_stage();

  join_frozen(stage, /*keep_values=*/true);

  EXPECT_EQ(stage[0].tensor.data_ptr<float>() + 64, stage[2].tensor.data_ptr<float>());
  EXPECT_EQ(stage[2].tensor.data_ptr<float>() + 32, stage[3].tensor.data_ptr<float>());
  EXPECT_EQ(stage[3].tensor.data_ptr<float>() + 16, stage[4].tensor.data_ptr<float>()) << "at 64 bytes";
  EXPECT_TRUE(stage[0].tensor.storage().is_alias_of(stage[4].tensor.storage()));
}

TEST(FrozenParameters, KeepTheirValuesAndLeaveWhatTrainsAlone) {
  const auto stage = adapted_stage();
  const void* const trained = stage[1].tensor.data_ptr();

  join_frozen(stage, /*keep_values=*/true);

  EXPECT_EQ(stage[1].tensor.data_ptr(), trained);
  for (const StageParameter& parameter : stage) {
    EXPECT_TRUE(at::equal(parameter.tensor, wave(parameter.name, parameter.layout.global_shape())));
    EXPECT_EQ(parameter.tensor.requires_grad(), parameter.name == "q.lora_A");
  }
}

TEST(FrozenParameters, OfAnotherTypeLieElsewhere) {
  auto stage = adapted_stage();
  stage.push_back(make_parameter("half.weight", Layout::local({4}), at::kBFloat16));
  stage.back().tensor.requires_grad_(false);

  join_frozen(stage, /*keep_values=*/true);

  EXPECT_EQ(stage.back().tensor.scalar_type(), at::kBFloat16);
  EXPECT_FALSE(stage.back().tensor.storage().is_alias_of(stage[0].tensor.storage()));
}

}  // namespace
}  // namespace d9d
