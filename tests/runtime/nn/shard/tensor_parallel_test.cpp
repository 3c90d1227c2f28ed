// Matrices shared out over ranks, tokens between them: the same training as on one rank.
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/parameter_text.hpp"

namespace d9d::test {
namespace {

class TensorParallelTraining : public testing::TestWithParam<std::tuple<Qwen3Kind, bool>> {
 protected:
  Qwen3Config model() const { return tiny_qwen3(std::get<0>(GetParam())); }
  void expect_equal(const DeviceMeshParameters& mesh, const Qwen3Config& model, int samples = 4) const {
    expect_equal_training({.mesh = mesh,
                           .model = model,
                           .enable_checkpointing = std::get<1>(GetParam()),
                           .batch = tiny_batch(model, samples)});
  }
};
INSTANTIATE_TEST_SUITE_P(FamilyAndCheckpointing, TensorParallelTraining,
                         testing::Combine(testing::Values(Qwen3Kind::dense, Qwen3Kind::moe),
                                          testing::Bool()));

TEST_P(TensorParallelTraining, OnTwoRanks) {
  expect_equal({.tensor_parallel = 2}, model());
}

TEST_P(TensorParallelTraining, OnMoreRanksThanKeyHeads) {
  expect_equal({.tensor_parallel = 4}, model());
}

TEST_P(TensorParallelTraining, OfSamplesOfItsOwn) {
  expect_equal({.data_parallel_replicate = 2, .tensor_parallel = 2}, model());
}

TEST_P(TensorParallelTraining, OfOneSample) {
  expect_equal({.tensor_parallel = 2}, model(), 1);
}

TEST_P(TensorParallelTraining, OfOddSizes) {
  Qwen3Config odd = model();
  odd.vocab_size = 93;
  odd.intermediate_size = 45;
  odd.head_dim = 12;
  odd.attention_bias = true;
  odd.pad_token_id = 5;
  for (const bool tied : {false, true}) {
    odd.tie_word_embeddings = tied;
    for (const int ranks : {2, 4}) expect_equal({.tensor_parallel = ranks}, odd);
  }
}

class TensorAndExpertParallelTraining : public testing::TestWithParam<bool> {
 protected:
  void expect_equal(const DeviceMeshParameters& mesh, const Qwen3Config& model) const {
    expect_equal_training(
        {.mesh = mesh, .model = model, .enable_checkpointing = GetParam(), .batch = tiny_batch(model, 4)});
  }
};
INSTANTIATE_TEST_SUITE_P(Checkpointing, TensorAndExpertParallelTraining, testing::Bool());

TEST_P(TensorAndExpertParallelTraining, OfExpertsThatLieOnOtherRanks) {
  const Qwen3Config model = tiny_qwen3(Qwen3Kind::moe);
  expect_equal({.tensor_parallel = 2, .expert_parallel = 2}, model);
  expect_equal({.data_parallel_replicate = 2, .tensor_parallel = 2, .expert_parallel = 2}, model);
  expect_equal({.data_parallel_replicate = 2, .tensor_parallel = 2, .expert_parallel = 4}, model);
}

TEST_P(TensorAndExpertParallelTraining, OfDenseLayersAmongSparseOnes) {
  Qwen3Config mixed = tiny_qwen3(Qwen3Kind::moe);
  mixed.mlp_only_layers = {1};
  expect_equal({.tensor_parallel = 2, .expert_parallel = 2}, mixed);
}

// Biases after a sum over ranks are ordinary torch, which cannot put its weight gradients off.
TEST(TensorParallel, TrainsBiasesWhenTheBackwardIsSplit) {
  Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  model.attention_bias = true;

  expect_equal_training({.mesh = {.pipeline_parallel = 2, .tensor_parallel = 2},
                         .model = model,
                         .batch = tiny_batch(model),
                         .schedule = OneFOneBSchedule{1, true},
                         .microbatches = 4});
}

// MOD-41: a whole bias after the sum, sliced ones before it.
TEST(TensorParallel, TrainsBiasesOfFeedForwardBlocks) {
  const auto model =
      read_hugging_face_config(std::string(D9D_SOURCE_DIR) + "/tests/golden/dense_families/llama_mlp_bias");
  for (const DeviceMeshParameters& mesh :
       {DeviceMeshParameters{.tensor_parallel = 2},
        DeviceMeshParameters{.data_parallel_shard = 2, .tensor_parallel = 2},
        DeviceMeshParameters{.pipeline_parallel = 2, .tensor_parallel = 4}})
    expect_equal_training({.mesh = mesh,
                           .other = model,
                           .batch = tiny_batch(*model),
                           .schedule = OneFOneBSchedule{1, true},
                           .microbatches = 2});
}

TEST(TensorParallel, RefusesHeadsThatItCannotShare) {
  const Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);

  EXPECT_THROW(train_once({.mesh = {.tensor_parallel = 3}, .model = model, .batch = tiny_batch(model)}),
               Error);
}

TEST(TensorParallel, RefusesSequencesThatItCannotShare) {
  const Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);

  EXPECT_THROW(
      train_once({.mesh = {.tensor_parallel = 2}, .model = model, .batch = tiny_batch(model, 2, 15)}), Error);
}

}  // namespace
}  // namespace d9d::test
