// A shared expert beside the routed ones: the same training step on every mesh.
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen2_moe/config.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/tiny_decoder.hpp"

namespace d9d::test {
namespace {

// Two layers, the first of them dense in `mixed`.
std::shared_ptr<Qwen2MoeConfig> tiny_qwen2_moe(bool mixed = false) {
  auto model = tiny_mixture<Qwen2MoeConfig>(2);
  model->decoder_sparse_step = mixed ? 2 : 1;
  return model;
}

void expect_same_on(const DeviceMeshParameters& mesh, const ParallelOptions& options = {},
                    bool mixed = false) {
  const auto model = tiny_qwen2_moe(mixed);
  for (const bool checkpointed : {false, true}) {
    ParallelCase given{
        .mesh = mesh, .options = options, .enable_checkpointing = checkpointed, .batch = tiny_batch(*model)};
    given.other = model;
    given.microbatches = 2;
    expect_equal_training(given);
  }
}

TEST(SharedExpert, IsShardedByTensorParallelism) {
  expect_same_on({.tensor_parallel = 2});
  expect_same_on({.tensor_parallel = 4});
}

TEST(SharedExpert, StaysWhereTheRoutedOnesAreSpread) {
  expect_same_on({.data_parallel_replicate = 2, .expert_parallel = 2});
  expect_same_on({.data_parallel_replicate = 2, .tensor_parallel = 2, .expert_parallel = 4});
}

TEST(SharedExpert, IsGatheredWithItsLayer) {
  expect_same_on({.data_parallel_shard = 2, .tensor_parallel = 2, .expert_parallel = 2});
}

TEST(SharedExpert, TakesPartInPipelines) {
  expect_same_on({.pipeline_parallel = 2, .data_parallel_replicate = 2, .expert_parallel = 2});
}

TEST(SharedExpert, OfMixedLayersWithReplicasThatUpdateShards) {
  expect_same_on({.data_parallel_replicate = 2}, {.zero1 = true}, /*mixed=*/true);
}

TEST(SharedExpert, NarrowerThanTheRanksIsRefused) {
  const auto model = tiny_qwen2_moe();
  model->shared_expert_intermediate_size = 1;

  EXPECT_THROW(model->require_tensor_parallel(2), Error);
}

}  // namespace
}  // namespace d9d::test
