// Windows with a RoPE of their own among layers of full attention: the same training step on every kind of mesh.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/family/gemma3_text/config.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/tiny_decoder.hpp"

namespace d9d::test {
namespace {

std::shared_ptr<Gemma3TextConfig> tiny_gemma3_text() {
  auto model = tiny_decoder<Gemma3TextConfig>(4);
  model->embedding_scale = std::sqrt(32.0);
  model->query_pre_attn_scalar = 5;
  model->logit_softcap = 3;
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
