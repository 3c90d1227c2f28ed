// MOD-36: with neighbours that turn and the rows of queries and keys in another order, models are those of
// transformers. Which row goes where is written here anew: row 2i is what turned half a head before row 2i + 1.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

// For each element of a head the one that was there; elements behind the turning ones stay.
at::Tensor order_of_head(std::int64_t turning, std::int64_t width) {
  const auto halves = at::arange(turning, at::kLong).chunk(2);
  return at::cat({at::stack(halves, 1).flatten(), at::arange(turning, width, at::kLong)});
}

bool has_heads(const std::string& name) {
  for (const char* part : {"q_proj.", "k_proj.", "q_norm.", "k_norm."})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

GoldenModel with_neighbours(const std::string& name) {
  GoldenModel golden = golden_model(name);
  auto config = nlohmann::json::parse(golden.model->config_json());
  EXPECT_FALSE(config.contains("rope_interleave"));
  config["rope_interleave"] = true;
  golden.model = parse_hugging_face_config(config.dump(), name);
  EXPECT_EQ(nlohmann::json::parse(golden.model->config_json()).at("rope_interleave"), true);
  const AttentionOptions attention = golden.model->attention();
  const at::Tensor order = order_of_head(attention.turning_dim(), attention.head_dim);
  for (TensorMap* const tensors : {&golden.weights, &golden.expect}) {
    for (auto& [tensor, value] : *tensors) {
      if (!has_heads(tensor)) continue;
      // A gate behind each head's query is a head of its own, whose rows stay.
      const std::int64_t gated = attention.output_gate && tensor.find("q_proj") != std::string::npos ? 2 : 1;
      const at::Tensor heads = value.unflatten(0, {-1, gated, attention.head_dim}).clone();
      heads.select(1, 0).copy_(heads.select(1, 0).index_select(1, order));
      value = heads.flatten(0, 2);
    }
  }
  return golden;
}

class RopePairs : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, RopePairs,
                         testing::Values("dense_tied", "dense_families/llama",
                                         "dense_families/llama_bias_tied", "gemma3_text/published",
                                         "qwen3_next/mixed"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(RopePairs, ThatAreNeighboursComputeWhatHalvesDo) {
  const GoldenModel golden = with_neighbours(GetParam());
  const auto stage = stage_of(golden);

  const at::Tensor logits = stage->forward(golden.inputs, {}).at("logits");
  run_backward(mean_loss(stage->forward(golden.inputs, golden.labels).at("cross_entropy"),
                         golden.labels.at("labels")));

  EXPECT_LT(relative_difference(logits, golden.expect.at("logits")), 1e-5);
  for (const auto& [name, gradient] : gradients_of(*stage))
    EXPECT_LT(relative_difference(gradient, golden.expect.at("grad." + name)), 1e-4) << name;
}

TEST_P(RopePairs, OfAnotherStyleComputeOtherNumbers) {
  GoldenModel golden = with_neighbours(GetParam());
  golden.model = golden_model(GetParam()).model;

  const at::Tensor logits = stage_of(golden)->forward(golden.inputs, {}).at("logits");

  EXPECT_GT(relative_difference(logits, golden.expect.at("logits")), 1e-3);
}

}  // namespace
}  // namespace d9d::test
