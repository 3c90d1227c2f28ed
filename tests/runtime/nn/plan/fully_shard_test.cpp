// Parameters in shards: the same training step as on one rank, whatever is gathered when.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/nn/size/state_memory.hpp"
#include "tests/support/live_bytes.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/parameter_text.hpp"

namespace d9d::test {
namespace {

struct Sharded {
  DeviceMeshParameters mesh;
  ParallelOptions options = {};
  int samples = 8;
  int microbatches = 1;
  ScheduleConfig schedule = GpipeSchedule{};
};

void expect_same_step(const Sharded& given, Qwen3Kind family, bool enable_checkpointing, bool tied = false) {
  Qwen3Config model = tiny_qwen3(family);
  model.tie_word_embeddings = tied;
  // A stage without a layer would be no test.
  model.num_hidden_layers = given.mesh.pipeline_parallel * stages_per_rank(given.schedule);
  model.num_hidden_layers = std::max<std::int64_t>(2, model.num_hidden_layers);
  expect_equal_training({.mesh = given.mesh,
                         .model = model,
                         .options = given.options,
                         .enable_checkpointing = enable_checkpointing,
                         .batch = tiny_batch(model, given.samples),
                         .schedule = given.schedule,
                         .microbatches = given.microbatches});
}

class FullyShard : public testing::TestWithParam<std::tuple<Qwen3Kind, bool>> {
 protected:
  void expect_same(const Sharded& given) const {
    const auto [family, enable_checkpointing] = GetParam();
    expect_same_step(given, family, enable_checkpointing);
  }
};
INSTANTIATE_TEST_SUITE_P(FamilyAndCheckpointing, FullyShard,
                         testing::Combine(testing::Values(Qwen3Kind::dense, Qwen3Kind::moe),
                                          testing::Bool()));

TEST_P(FullyShard, TrainsAsOneRankDoes) {
  for (const int microbatches : {1, 2}) {
    expect_same({.mesh = {.data_parallel_shard = 2}, .microbatches = microbatches});
  }
}

TEST_P(FullyShard, TrainsTheSameWithReplicasOfTheShards) {
  expect_same({.mesh = {.data_parallel_replicate = 2, .data_parallel_shard = 2}, .microbatches = 2});
}

// 3 ranks divide neither 32 rows nor 4 experts.
TEST_P(FullyShard, TakesShardsThatAreNotEven) {
  expect_same({.mesh = {.data_parallel_shard = 3}, .samples = 6, .microbatches = 2});
}

// Of 4 experts, 4 of 8 ranks hold none.
TEST_P(FullyShard, TakesShardsThatAreEmpty) {
  expect_same({.mesh = {.data_parallel_shard = 8}});
}

TEST_P(FullyShard, TrainsTheSameWhenParametersStayInAStep) {
  const ParallelOptions keep{.fully_shard = {.reshard_after_forward = ReshardAfterForward::never}};
  expect_same({.mesh = {.data_parallel_shard = 2}, .options = keep, .microbatches = 2});
}

TEST_P(FullyShard, TrainsTheSameWhenEachMicrobatchIsReduced) {
  const ParallelOptions each{.fully_shard = {.reduce = ReducePeriod::microbatch}};
  expect_same(
      {.mesh = {.data_parallel_replicate = 2, .data_parallel_shard = 2}, .options = each, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_shard = 2}, .options = each, .microbatches = 4});
}

TEST_P(FullyShard, GathersTiedWeightsForBothTheirUses) {
  const auto [family, enable_checkpointing] = GetParam();
  expect_same_step({.mesh = {.data_parallel_shard = 2}, .microbatches = 2}, family, enable_checkpointing,
                   /*tied=*/true);
}

// Experts lie in shards of their own: over all ranks that would hold the same ones.
TEST_P(FullyShard, ShardsExpertsOverTheRanksThatWouldHoldTheSame) {
  const auto [family, enable_checkpointing] = GetParam();
  if (family == Qwen3Kind::dense) GTEST_SKIP() << "no experts";
  const ParallelOptions each{.fully_shard = {.reduce = ReducePeriod::microbatch}};
  expect_same({.mesh = {.data_parallel_shard = 2, .expert_parallel = 2}, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_shard = 4, .expert_parallel = 2}, .options = each, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_replicate = 2, .data_parallel_shard = 2, .expert_parallel = 2}});
  expect_same({.mesh = {.data_parallel_replicate = 4, .expert_parallel = 2}, .options = {.zero1 = true}});
}

TEST_P(FullyShard, TrainsTheSameUnderEverySchedule) {
  const std::vector<ScheduleConfig> schedules{GpipeSchedule{}, OneFOneBSchedule{},
                                              OneFOneBSchedule{.num_stages_per_rank = 1, .zero_bubble = true},
                                              ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
  const FullyShardOptions each{ReshardAfterForward::always, ReducePeriod::microbatch};
  for (const ScheduleConfig& schedule : schedules) {
    for (const FullyShardOptions& options : {FullyShardOptions{}, each}) {
      SCOPED_TRACE(std::string(name_of(schedule)) + (options.reduce == ReducePeriod::step ? "" : ", each"));
      expect_same({.mesh = {.pipeline_parallel = 2, .data_parallel_shard = 2},
                   .options = {.fully_shard = options},
                   .microbatches = 4,
                   .schedule = schedule});
    }
  }
}

TEST_P(FullyShard, Zero1TrainsAsOneRankDoes) {
  expect_same({.mesh = {.data_parallel_replicate = 2}, .options = {.zero1 = true}, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_replicate = 3}, .options = {.zero1 = true}, .samples = 6});
}

// Few tokens and a small vocabulary: next to nothing but parameters and gradients takes memory in the step.
std::int64_t measured_bytes(const ParallelOptions& options, const Qwen3Config& model, int microbatches) {
  std::int64_t peak = 0;
  train_once({.mesh = {.data_parallel_shard = 2},
              .model = model,
              .options = options,
              .batch = tiny_batch(model, 2 * microbatches, 4),
              .microbatches = microbatches,
              .around_step = [&](int rank, const std::function<void()>& step) {
                const LiveBytes live;
                step();
                if (rank == 0) peak = live.peak();
              }});
  return peak;
}

TEST(FullyShardMemory, IsWhatTheEstimateSays) {
  Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  model.hidden_size = 128;
  model.intermediate_size = 384;
  model.num_hidden_layers = 6;
  const std::vector<StagePosition> stages{StagePosition{}};
  struct Case {
    ParallelOptions options;
    int microbatches;
    StateMemoryOptions estimate;
  };
  // Reductions run at once here: none is under way while the next unit computes.
  const std::vector<Case> cases{{{}, 1, {.shards = 2, .units_in_reduction = 0}},
                                {{}, 2, {.shards = 2, .keeps_gradients = true}},
                                {{.fully_shard = {.reduce = ReducePeriod::microbatch}},
                                 2,
                                 {.shards = 2, .adds_gradients = true, .units_in_reduction = 0}},
                                {{.fully_shard = {.reshard_after_forward = ReshardAfterForward::never}},
                                 2,
                                 {.shards = 2, .keeps_values = true, .keeps_gradients = true}}};

  for (const Case& each : cases) {
    SCOPED_TRACE(&each - cases.data());
    const StateMemory estimate = state_memory(model, stages, each.estimate);
    const double expected = static_cast<double>(estimate.gathered + estimate.whole_gradients);
    EXPECT_NEAR(static_cast<double>(measured_bytes(each.options, model, each.microbatches)), expected,
                0.15 * expected);
  }
}

}  // namespace
}  // namespace d9d::test
