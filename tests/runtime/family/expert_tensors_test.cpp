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

// Boxes are read without the rest of the tensor.
TEST(ExpertTensors, ThatAreTransposedAreTurnedAndBack) {
  const ExpertTensors experts{"theirs.", "ours.", 2};
  const at::Tensor stored = at::arange(24).view({2, 3, 4}), bias = at::arange(8).view({2, 4});
  std::vector<MapperPtr> in, out;
  add_experts_from(in, experts, ExpertStorage::transposed);
  add_experts_to(out, experts, ExpertStorage::transposed);
  const MapperPtr read = parallel(std::move(in)), write = parallel(std::move(out));

  const at::Tensor ours = read->apply({{"theirs.gate_up_proj", stored}}).at("ours.gate_up_proj.weight");

  EXPECT_TRUE(at::equal(ours, stored.transpose(1, 2)));
  EXPECT_TRUE(
      at::equal(write->apply({{"ours.gate_up_proj.weight", ours}}).at("theirs.gate_up_proj"), stored));
  EXPECT_TRUE(
      at::equal(read->apply({{"theirs.gate_up_proj_bias", bias}}).at("ours.gate_up_proj.bias"), bias));
  const auto pieces =
      read->trace("ours.gate_up_proj.weight", {{1, 0, 0}, {2, 2, 3}}, {{"theirs.gate_up_proj", stored}});
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 1U);
  EXPECT_EQ(pieces->front().from, (Slice{{1, 0, 0}, {2, 3, 2}}));
}

}  // namespace
}  // namespace d9d
