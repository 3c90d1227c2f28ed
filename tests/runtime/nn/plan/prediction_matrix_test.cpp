// Multi-token prediction trains on every mesh as on one rank, whatever the schedule: modules behind the last
// stage's layers, which reads a copy of the embedding.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/data/next_tokens.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

class MatrixOfPrediction : public testing::Test {
 protected:
  explicit MatrixOfPrediction(bool tied = false) {
    const nlohmann::json keys = {{"model_type", "deepseek_v3"},
                                 {"hidden_size", 32},
                                 {"intermediate_size", 40},
                                 {"num_hidden_layers", 4},
                                 {"vocab_size", 96},
                                 {"num_attention_heads", 4},
                                 {"max_position_embeddings", 64},
                                 {"initializer_range", 0.2},
                                 {"q_lora_rank", 10},
                                 {"kv_lora_rank", 8},
                                 {"qk_nope_head_dim", 6},
                                 {"qk_rope_head_dim", 4},
                                 {"v_head_dim", 8},
                                 {"moe_intermediate_size", 24},
                                 {"n_routed_experts", 8},
                                 {"num_experts_per_tok", 2},
                                 {"n_group", 2},
                                 {"topk_group", 1},
                                 {"first_k_dense_replace", 1},
                                 {"num_nextn_predict_layers", 2},
                                 {"mtp_loss_factor", 0.5},
                                 {"tie_word_embeddings", tied}};
    model_ = parse_hugging_face_config(keys.dump(), "the test's model");
  }

  // Activation checkpointing takes turns.
  void expect_same(const DeviceMeshParameters& mesh, const ScheduleConfig& schedule,
                   const ParallelOptions& options = {}) {
    ParallelCase given{
        .mesh = mesh, .options = options, .enable_checkpointing = turn_++ % 2 == 0, .schedule = schedule};
    SCOPED_TRACE(std::string(name_of(schedule)) + " on " + text_of(mesh) +
                 (given.enable_checkpointing ? " checkpointed" : ""));
    given.other = model_;
    given.batch = tiny_batch(*model_, 16, 16);
    given.microbatches = 16 / mesh.data_parallel();
    add_next_tokens(given.batch, model_->prediction_depths);
    expect_equal_training(given);
  }

  void expect_same_under_every_schedule() {
    const std::vector<ScheduleConfig> schedules{GpipeSchedule{},       OneFOneBSchedule{1, true},
                                                OneFOneBSchedule{2},   OneFOneBSchedule{2, true},
                                                ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
    for (const ScheduleConfig& schedule : schedules) {
      expect_same({.pipeline_parallel = 2}, schedule);
      expect_same({.pipeline_parallel = 2, .data_parallel_shard = 2}, schedule);
      expect_same({.pipeline_parallel = 2, .tensor_parallel = 2}, schedule);
    }
  }

  std::shared_ptr<FamilyModel> model_;
  int turn_ = 0;
};

class MatrixOfTiedPrediction : public MatrixOfPrediction {
 protected:
  MatrixOfTiedPrediction() : MatrixOfPrediction(/*tied=*/true) {}
};

TEST_F(MatrixOfPrediction, TrainsUnderEverySchedule) {
  expect_same_under_every_schedule();
}

TEST_F(MatrixOfTiedPrediction, TrainsUnderEverySchedule) {
  expect_same_under_every_schedule();
}

TEST_F(MatrixOfPrediction, TrainsBesideEveryStrategy) {
  const MeshLimits limits{.pipeline = 4, .tensor = 4, .experts = 8};
  std::vector<DeviceMeshParameters> all = meshes_of(2, limits);
  for (const DeviceMeshParameters& mesh : sampled(meshes_of(4, limits), 12)) all.push_back(mesh);
  for (const DeviceMeshParameters& mesh : sampled(meshes_of(8, limits), 6)) all.push_back(mesh);
  for (const DeviceMeshParameters& mesh : all) {
    const bool zero1 = mesh.data_parallel_shard * mesh.context_parallel_shard == 1;
    expect_same(mesh, OneFOneBSchedule{}, {.zero1 = zero1});
  }
}

TEST_F(MatrixOfPrediction, TrainsInShardsThatAreReducedAfterEachMicrobatch) {
  const ParallelOptions each{.fully_shard = {.reshard_after_forward = ReshardAfterForward::always,
                                             .reduce = ReducePeriod::microbatch}};
  expect_same({.data_parallel_shard = 2}, GpipeSchedule{}, each);
  expect_same({.pipeline_parallel = 2, .data_parallel_shard = 2}, OneFOneBSchedule{1, true}, each);
}

}  // namespace
}  // namespace d9d::test
