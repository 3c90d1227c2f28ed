// Windows with a RoPE of their own among layers of full attention: the same training step on every kind of mesh.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/family/gemma3_text/config.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

std::shared_ptr<Gemma3TextConfig> tiny_gemma3_text() {
  auto model = std::make_shared<Gemma3TextConfig>();
  model->vocab_size = 61;
  model->hidden_size = 32;
  model->embedding_scale = std::sqrt(32.0);
  model->intermediate_size = 24;
  model->num_hidden_layers = 4;
  model->num_attention_heads = 4;
  model->num_key_value_heads = 2;
  model->head_dim = 8;
  model->query_pre_attn_scalar = 5;
  model->logit_softcap = 3;
  model->max_position_embeddings = 64;
  model->initializer_range = 0.2;
  model->rope = {.type = RopeOptions::Type::linear, .theta = 1e5, .factor = 4};
  model->window_rope = RopeOptions{.theta = 500};
  model->windows = {5, {true, false, true, true}};
  return model;
}

void expect_same_gemma_on(const DeviceMeshParameters& mesh, const ScheduleConfig& schedule = GpipeSchedule{},
                    bool tied = false) {
  const auto model = tiny_gemma3_text();
  model->tie_word_embeddings = tied;
  ParallelCase given{.mesh = mesh, .batch = tiny_batch(*model)};
  given.other = model;
  given.schedule = schedule;
  given.microbatches = 2;
  for (const bool checkpointed : {false, true}) {
    given.enable_checkpointing = checkpointed;
    expect_equal_training(given);
  }
}

TEST(Gemma3Text, IsShardedByHeadsAndWords) {
  expect_same_gemma_on({.tensor_parallel = 2});
  expect_same_gemma_on({.tensor_parallel = 4}, GpipeSchedule{}, /*tied=*/true);
}

TEST(Gemma3Text, IsGatheredWithItsLayers) {
  expect_same_gemma_on({.data_parallel_shard = 2, .tensor_parallel = 2}, GpipeSchedule{}, /*tied=*/true);
}

TEST(Gemma3Text, SharesSequences) {
  expect_same_gemma_on({.context_parallel_shard = 2});
}

TEST(Gemma3Text, TakesPartInPipelinesThatSplitBackward) {
  expect_same_gemma_on({.pipeline_parallel = 2, .data_parallel_shard = 2}, OneFOneBSchedule{.zero_bubble = true});
}

}  // namespace
}  // namespace d9d::test
