// Parameters in shards: the same training step as on one rank, whatever is gathered when.
#include <gtest/gtest.h>

#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

struct Sharded {
  DeviceMeshParameters mesh;
  ParallelOptions options = {};
  int samples = 8;
  int microbatches = 1;
};

void expect_same_step(const Sharded& given, ModelFamily family, bool enable_checkpointing, bool tied = false) {
  Qwen3Config model = tiny_qwen3(family);
  model.tie_word_embeddings = tied;
  expect_equal_training({.mesh = given.mesh,
                         .model = model,
                         .options = given.options,
                         .enable_checkpointing = enable_checkpointing,
                         .batch = tiny_batch(model, given.samples),
                         .microbatches = given.microbatches});
}

class FullyShard : public testing::TestWithParam<std::tuple<ModelFamily, bool>> {
 protected:
  void expect_same(const Sharded& given) const {
    const auto [family, enable_checkpointing] = GetParam();
    expect_same_step(given, family, enable_checkpointing);
  }
};
INSTANTIATE_TEST_SUITE_P(FamilyAndCheckpointing, FullyShard,
                         testing::Combine(testing::Values(ModelFamily::dense, ModelFamily::moe),
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
  expect_same({.mesh = {.data_parallel_replicate = 2, .data_parallel_shard = 2},
               .options = each,
               .microbatches = 2});
  expect_same({.mesh = {.data_parallel_shard = 2}, .options = each, .microbatches = 4});
}

TEST_P(FullyShard, GathersTiedWeightsForBothTheirUses) {
  const auto [family, enable_checkpointing] = GetParam();
  expect_same_step({.mesh = {.data_parallel_shard = 2}, .microbatches = 2}, family, enable_checkpointing,
                   /*tied=*/true);
}

TEST_P(FullyShard, LeavesExpertsOfSeveralRanksAsTheyLie) {
  const auto [family, enable_checkpointing] = GetParam();
  if (family == ModelFamily::dense) GTEST_SKIP() << "no experts";
  expect_same({.mesh = {.data_parallel_shard = 2, .expert_parallel = 2}, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_replicate = 2, .data_parallel_shard = 2, .expert_parallel = 2}});
}

TEST_P(FullyShard, Zero1TrainsAsOneRankDoes) {
  expect_same({.mesh = {.data_parallel_replicate = 2}, .options = {.zero1 = true}, .microbatches = 2});
  expect_same({.mesh = {.data_parallel_replicate = 3}, .options = {.zero1 = true}, .samples = 6});
}

}  // namespace
}  // namespace d9d::test
