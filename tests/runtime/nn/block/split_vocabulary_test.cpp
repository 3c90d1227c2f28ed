// A vocabulary in named parts: the training of one table, on any mesh, with parts that are frozen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sin.h>

#include "runtime/nn/block/embedding.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

// Uneven over 2, 3 and 4 ranks.
const std::vector<VocabularyPart> test_parts{{"regular", 61}, {"special", 5}, {"added", 27}};

Qwen3Config with_parts(bool tied) {
  Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  model.vocab_size = 93;
  model.vocabulary_parts = test_parts;
  model.tie_word_embeddings = tied;
  model.pad_token_id = 63;
  return model;
}

at::Tensor table_of_parts(const TensorMap& tensors, const std::string& module) {
  std::vector<at::Tensor> tables;
  for (const VocabularyPart& part : test_parts)
    tables.push_back(tensors.at(module + "." + part.name + ".weight"));
  return at::cat(tables);
}

void expect_near(const at::Tensor& value, const at::Tensor& expected) {
  EXPECT_LE((value - expected).norm().item<double>(), 1e-5 * expected.norm().item<double>());
}

class SplitVocabulary : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Tied, SplitVocabulary, testing::Bool());

TEST_P(SplitVocabulary, TrainsAsOneTableDoes) {
  Qwen3Config model = with_parts(GetParam());
  const TensorMap batch = tiny_batch(model);
  TensorMap weights;  // the head of the parted model would be drawn from other names
  for (const std::string module : {"model.embed_tokens", "lm_head"}) {
    for (const VocabularyPart& part : test_parts) {
      const at::Tensor rows = at::arange(part.size * 32, at::kFloat).view({part.size, 32});
      weights[module + "." + part.name + ".weight"] =
          at::sin(rows * static_cast<double>(part.size + module.size())) * 0.05;
    }
    weights[module + ".weight"] = table_of_parts(weights, module);
  }

  const Trained parted = train_once({.model = model, .batch = batch, .weights = weights});
  model.vocabulary_parts.clear();
  const Trained whole = train_once({.model = model, .batch = batch, .weights = weights});

  EXPECT_NEAR(parted.loss, whole.loss, 1e-6 * whole.loss);
  expect_near(table_of_parts(parted.gradients, "model.embed_tokens"),
              whole.gradients.at("model.embed_tokens.weight"));
  if (!GetParam())
    expect_near(table_of_parts(parted.gradients, "lm_head"), whole.gradients.at("lm_head.weight"));
  const std::string other = "model.layers.0.self_attn.q_proj.weight";
  expect_near(parted.gradients.at(other), whole.gradients.at(other));
}

TEST_P(SplitVocabulary, TrainsTheSameOnEveryMesh) {
  const Qwen3Config model = with_parts(GetParam());
  const std::vector<DeviceMeshParameters> meshes{{.tensor_parallel = 2},
                                                 {.tensor_parallel = 4},
                                                 {.data_parallel_shard = 3},
                                                 {.data_parallel_replicate = 2, .data_parallel_shard = 2},
                                                 {.data_parallel_shard = 2, .tensor_parallel = 2}};
  for (const DeviceMeshParameters& mesh : meshes) {
    expect_equal_training({.mesh = mesh, .model = model, .batch = tiny_batch(model, 12)});
  }
}

TEST(VocabularyParts, TrainsOnlyTheTablesThatAreNotFrozen) {
  const Qwen3Config model = with_parts(false);
  const PeftConfig freeze = FreezeConfig{"(model.embed_tokens|lm_head).(regular|added)"};
  const TensorMap batch = tiny_batch(model, 4);

  const Trained trained = train_once({.model = model, .batch = batch, .peft = freeze});

  EXPECT_TRUE(trained.gradients.contains("model.embed_tokens.special.weight"));
  EXPECT_TRUE(trained.gradients.contains("lm_head.special.weight"));
  EXPECT_FALSE(trained.gradients.contains("model.embed_tokens.regular.weight"));
  EXPECT_FALSE(trained.gradients.contains("lm_head.added.weight"));
  for (const auto& mesh : {DeviceMeshParameters{.data_parallel_shard = 2},
                           DeviceMeshParameters{.pipeline_parallel = 2, .tensor_parallel = 2}}) {
    expect_equal_training({.mesh = mesh,
                           .model = model,
                           .batch = batch,
                           .schedule = OneFOneBSchedule{1, mesh.pipeline_parallel > 1},
                           .microbatches = 2,
                           .peft = freeze});
  }
}

TEST(VocabularyParts, RefusesPartsWithFewerWordsThanRanks) {
  Qwen3Config model = with_parts(false);
  model.vocabulary_parts = {{"regular", 92}, {"special", 1}};
  const TensorMap batch = tiny_batch(model, 2);

  EXPECT_THAT(error_of([&] { train_once({.mesh = {.tensor_parallel = 2}, .model = model, .batch = batch}); }),
              testing::HasSubstr("part \"special\" of the vocabulary has 1 words"));
}

}  // namespace
}  // namespace d9d::test
