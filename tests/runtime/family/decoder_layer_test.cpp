// A shared expert beside the routed ones: the same training step on every mesh.
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen2_moe/config.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

// Two layers, the first of them dense in `mixed`; four experts, two of them for a token.
std::shared_ptr<Qwen2MoeConfig> tiny_qwen2_moe(bool mixed = false) {
  auto model = std::make_shared<Qwen2MoeConfig>();
  model->vocab_size = 61;
  model->hidden_size = 32;
  model->intermediate_size = 24;
  model->moe_intermediate_size = 12;
  model->shared_expert_intermediate_size = 20;
  model->num_hidden_layers = 2;
  model->num_attention_heads = 4;
  model->num_key_value_heads = 2;
  model->head_dim = 8;
  model->max_position_embeddings = 64;
  model->num_experts = 4;
  model->num_experts_per_tok = 2;
  model->decoder_sparse_step = mixed ? 2 : 1;
  model->initializer_range = 0.2;
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
