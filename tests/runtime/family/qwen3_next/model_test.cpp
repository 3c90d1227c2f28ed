// Gated delta nets among layers of attention: the same training step on every mesh that can share them.
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen3_next/config.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/tiny_decoder.hpp"

namespace d9d::test {
namespace {

// Two delta nets, attention, another delta net; three value heads to a key head.
std::shared_ptr<Qwen3NextConfig> tiny_qwen3_next() {
  auto model = tiny_mixture<Qwen3NextConfig>(4);
  model->linear_layers = {true, true, false, true};
  model->rms_norm_eps =
      1e-3;  // the norm behind a small state multiplies what sums in another order differ by
  model->linear_num_key_heads = 4;
  model->linear_num_value_heads = 12;
  model->linear_key_head_dim = 6;
  model->linear_value_head_dim = 5;
  model->mlp_only_layers = {1};
  return model;
}

ParallelCase case_on(const DeviceMeshParameters& mesh, bool checkpointed, const ScheduleConfig& schedule) {
  const auto model = tiny_qwen3_next();
  ParallelCase given{.mesh = mesh, .enable_checkpointing = checkpointed, .batch = tiny_batch(*model)};
  given.other = model;
  given.schedule = schedule;
  given.microbatches = 2;
  return given;
}

void expect_same_hybrid_on(const DeviceMeshParameters& mesh, const ScheduleConfig& schedule = GpipeSchedule{}) {
  for (const bool checkpointed : {false, true}) expect_equal_training(case_on(mesh, checkpointed, schedule));
}

TEST(Qwen3Next, IsShardedByHeads) {
  expect_same_hybrid_on({.tensor_parallel = 2});
  expect_same_hybrid_on({.tensor_parallel = 4});
}

TEST(Qwen3Next, IsGatheredWithItsLayers) {
  expect_same_hybrid_on({.data_parallel_shard = 2, .tensor_parallel = 2, .expert_parallel = 2});
}

TEST(Qwen3Next, TakesPartInPipelinesThatSplitBackward) {
  expect_same_hybrid_on({.pipeline_parallel = 2, .data_parallel_shard = 2}, OneFOneBSchedule{.zero_bubble = true});
}

TEST(Qwen3Next, RefusesToShareSequences) {
  EXPECT_THROW(train_once(case_on({.context_parallel_shard = 2}, false, GpipeSchedule{})), Error);
}

}  // namespace
}  // namespace d9d::test
