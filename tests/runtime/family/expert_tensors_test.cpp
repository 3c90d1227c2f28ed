#include "runtime/family/expert_tensors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/compose.hpp"

namespace d9d {
namespace {

TEST(ExpertTensors, SayHowTheyAreStored) {
  const std::string experts = "model.layers.1.mlp.experts.";

  EXPECT_EQ(expert_storage_of({experts + "0.gate_proj.weight"}), ExpertStorage::one_by_one);
  EXPECT_EQ(expert_storage_of({experts + "0.w1.weight"}), ExpertStorage::one_by_one);
  EXPECT_EQ(expert_storage_of({experts + "gate_up_proj", experts + "down_proj"}), ExpertStorage::fused);
  EXPECT_EQ(expert_storage_of({"model.layers.0.mlp.gate_proj.weight"}), ExpertStorage::one_by_one);
  EXPECT_THROW(expert_storage_of({experts + "gate_up_proj", experts + "0.up_proj.weight"}), Error);
}

TEST(ExpertTensors, AreStackedUnderOurNames) {
  const ExpertTensors experts{"theirs.", "ours.", 2, "w1", "w3", "w2"};
  std::vector<MapperPtr> mappers;
  add_experts_from(mappers, experts, ExpertStorage::one_by_one);
  const at::Tensor first = at::arange(12).view({4, 3}), second = first.add(100);

  const TensorMap stacked =
      parallel(std::move(mappers))->apply({{"theirs.0.w2.weight", first}, {"theirs.1.w2.weight", second}});

  EXPECT_TRUE(at::equal(stacked.at("ours.down_proj.weight")[0], first));
  EXPECT_TRUE(at::equal(stacked.at("ours.down_proj.weight")[1], second));
}

}  // namespace
}  // namespace d9d
