// The tensors of Qwen3 in a folder; its config.json is in ../hugging_face_config_test.cpp.
#include "runtime/family/qwen3/config.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Not;

const std::string experts = "model.layers.1.mlp.experts.";

Qwen3Config dense_then_sparse() {
  Qwen3Config config(Qwen3Kind::moe);
  config.num_hidden_layers = 2;
  config.mlp_only_layers = {0};
  config.num_experts = 2;
  config.tie_word_embeddings = true;
  return config;
}

Names with(const Names& names, const std::string& part) {
  Names found;
  for (const auto& name : names) {
    if (name.find(part) != std::string::npos) found.insert(name);
  }
  return found;
}

TEST(Qwen3Config, NamesEachTensorOfBothSidesOnce) {
  const Qwen3Config config = dense_then_sparse();
  ASSERT_EQ(config.folder_forms().size(), 3U);
  for (const FolderForm& form : config.folder_forms()) {
    const auto in = config.from_hugging_face(outputs_of(*form.from_parameters));

    EXPECT_EQ(inputs_of(*in), outputs_of(*form.from_parameters)) << form.name;
    EXPECT_EQ(outputs_of(*in), inputs_of(*form.from_parameters)) << form.name;
    EXPECT_EQ(
        with(outputs_of(*in), "experts"),
        (Names{experts + "down_proj.weight", experts + "gate_proj.weight", experts + "up_proj.weight"}));
    EXPECT_THAT(outputs_of(*in),
                AllOf(Contains("model.layers.0.mlp.gate_proj.weight"),
                      Contains("model.layers.1.self_attn.q_norm.weight"),
                      Contains("model.layers.1.mlp.gate.weight"), Not(Contains("lm_head.weight"))));
  }
}

TEST(Qwen3Config, OfDenseLayersHasNoExperts) {
  Qwen3Config config = dense_then_sparse();
  config.kind = Qwen3Kind::dense;

  EXPECT_EQ(config.folder_forms().size(), 1U);
  EXPECT_EQ(with(outputs_of(*config.to_hugging_face()), "experts"), Names());
}

TEST(Qwen3Config, SplitsFusedGateAndUp) {
  const auto in = dense_then_sparse().from_hugging_face({experts + "gate_up_proj"});
  const at::Tensor fused = at::arange(2 * 6 * 4).view({2, 6, 4});

  const TensorMap parts = in->apply({{experts + "gate_up_proj", fused}});

  EXPECT_TRUE(at::equal(parts.at(experts + "gate_proj.weight"), fused.narrow(1, 0, 3)));
  EXPECT_TRUE(at::equal(parts.at(experts + "up_proj.weight"), fused.narrow(1, 3, 3)));
}

TEST(Qwen3Config, StacksExpertsInTheirOrder) {
  const auto in = dense_then_sparse().from_hugging_face({});
  const at::Tensor first = at::arange(12).view({4, 3}), second = first.add(100);

  const TensorMap stacked =
      in->apply({{experts + "0.down_proj.weight", first}, {experts + "1.down_proj.weight", second}});

  EXPECT_TRUE(at::equal(stacked.at(experts + "down_proj.weight")[0], first));
  EXPECT_TRUE(at::equal(stacked.at(experts + "down_proj.weight")[1], second));
}

}  // namespace
}  // namespace d9d
