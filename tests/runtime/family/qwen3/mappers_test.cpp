#include "runtime/family/qwen3/mappers.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

namespace d9d {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Not;

const std::string experts = "model.layers.1.mlp.experts.";

Qwen3Tensors dense_then_sparse() {
  return {{false, true}, 2, false, true};
}

Names with(const Names& names, const std::string& part) {
  Names found;
  for (const auto& name : names) {
    if (name.find(part) != std::string::npos) found.insert(name);
  }
  return found;
}

TEST(Qwen3Mappers, NameEachTensorOfBothSidesOnce) {
  for (const auto storage : {ExpertStorage::one_by_one, ExpertStorage::fused}) {
    const auto in = qwen3_from_hugging_face(dense_then_sparse(), storage);
    const auto out = qwen3_to_hugging_face(dense_then_sparse(), storage);

    EXPECT_EQ(inputs_of(*in), outputs_of(*out));
    EXPECT_EQ(outputs_of(*in), inputs_of(*out));
    EXPECT_EQ(
        with(outputs_of(*in), "experts"),
        (Names{experts + "down_proj.weight", experts + "gate_proj.weight", experts + "up_proj.weight"}));
    EXPECT_THAT(outputs_of(*in),
                AllOf(Contains("model.layers.0.mlp.gate_proj.weight"),
                      Contains("model.layers.1.mlp.gate.weight"), Not(Contains("lm_head.weight"))));
  }
}

TEST(Qwen3Mappers, SplitFusedGateAndUp) {
  const auto in = qwen3_from_hugging_face(dense_then_sparse(), ExpertStorage::fused);
  const at::Tensor fused = at::arange(2 * 6 * 4).view({2, 6, 4});

  const TensorMap parts = in->apply({{experts + "gate_up_proj", fused}});

  EXPECT_TRUE(at::equal(parts.at(experts + "gate_proj.weight"), fused.narrow(1, 0, 3)));
  EXPECT_TRUE(at::equal(parts.at(experts + "up_proj.weight"), fused.narrow(1, 3, 3)));
}

TEST(Qwen3Mappers, StackExpertsInTheirOrder) {
  const auto in = qwen3_from_hugging_face(dense_then_sparse(), ExpertStorage::one_by_one);
  const at::Tensor first = at::arange(12).view({4, 3}), second = first.add(100);

  const TensorMap stacked =
      in->apply({{experts + "0.down_proj.weight", first}, {experts + "1.down_proj.weight", second}});

  EXPECT_TRUE(at::equal(stacked.at(experts + "down_proj.weight")[0], first));
  EXPECT_TRUE(at::equal(stacked.at(experts + "down_proj.weight")[1], second));
}

}  // namespace
}  // namespace d9d
