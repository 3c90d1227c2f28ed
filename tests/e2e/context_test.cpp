// Jobs whose sequences are shared by ranks: the same curve on every mesh, order and process, the same
// checkpoints, and the debug switch that watches over their collectives.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Words sequences_on(int ranks) {
  return set("mesh.context_parallel_shard", std::to_string(ranks));
}
Words by(const std::string& attention, const std::string& order) {
  return set("parallelism.context.attention", attention) + set("parallelism.context.order", order);
}
const Words kStages =
    set("mesh.pipeline_parallel", "2") + set("trainer.pipelining.schedule", "{schedule: 1f1b}");

class Context : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{period_steps: last_step}", "{period_steps: 10, num_to_keep: null}");
  }

  void run(const Words& words) {
    const Outcome outcome = job_.run(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  void run_alone() { run(named("alone")); }

  void expect_same_curve(const std::string& run) {
    const auto got = job_.losses(run);
    const auto expected = job_.losses("alone");
    ASSERT_EQ(got.size(), expected.size()) << run;
    EXPECT_LT(expected.back(), expected.front() - 0.5) << "the model learnt too little to compare anything";
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i])) << run << " at step " << i + 1;
    }
    for (const char* count : {"tokens", "metrics/num_tokens"}) {
      EXPECT_EQ(job_.values(run, count), job_.values("alone", count)) << run;
    }
  }
  void expect_same(const std::string& name, const Words& words) {
    run(named(name) + words);
    expect_same_curve(name);
  }
  void expect_same_in_two_processes(const std::string& name, int ranks, const Words& words) {
    const auto [first, second] = job_.start_two(ranks, named(name) + words);
    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();
    expect_same_curve(name);
  }

  TinyJob job_;
};

TEST_F(Context, OneCurveWhicheverWayAttentionReachesTheRest) {
  run_alone();

  expect_same("two", sequences_on(2));
  expect_same("four", sequences_on(4) + by("ring", "contiguous"));
  expect_same("heads", sequences_on(2) + by("ulysses", "zigzag"));
  expect_same("more_ranks_than_key_heads", sequences_on(4) + by("ulysses", "contiguous"));
  expect_same("both_kinds", sequences_on(2) + set("mesh.context_parallel_replicate", "2"));
}

TEST_F(Context, OneCurveWithStagesReplicasAndExperts) {
  run_alone();

  expect_same("stages", sequences_on(2) + kStages);
  expect_same("replicas", sequences_on(2) + mesh(1, 2));
  expect_same("experts", sequences_on(2) + experts_on(2));
  expect_same("checkpointed", sequences_on(2) + set("model_provider.enable_checkpointing", "true"));
  expect_same("split_backward",
              sequences_on(2) + set("mesh.pipeline_parallel", "2") +
                  set("trainer.pipelining.schedule", "{schedule: 1f1b, zero_bubble: true}"));
  expect_same("any_order", sequences_on(2) + kStages + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(Context, OneCurveInTwoProcesses) {
  run_alone();

  expect_same_in_two_processes("across", 2, sequences_on(2));
  expect_same_in_two_processes("heads_across", 2, sequences_on(2) + by("ulysses", "zigzag"));
  expect_same_in_two_processes("stages", 4, sequences_on(2) + kStages);
}

TEST_F(Context, ACheckpointOfTwoRanksIsReadByOne) {
  run_alone();

  run(named("halves") + sequences_on(2));
  std::filesystem::remove_all(job_.run_folder("halves") / "checkpoints/save-20");
  run(named("halves"));

  expect_same_curve("halves");
}

TEST_F(Context, RefusesSequencesThatCannotBeDealtOut) {
  const Outcome outcome = job_.run(sequences_on(2) + set("data.sequence_length", "30"));

  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("data.sequence_length: 30 tokens cannot be dealt out to 2"),
                                 HasSubstr("give 28 or 32")));
}

TEST_F(Context, CheckedCollectivesTrainTheSameToTheLastBit) {
  const Words words = sequences_on(2) + mesh(1, 2) + experts_on(2);
  const Words checked = words + set("debug.check_collectives", "true");
  run(named("unchecked") + words);

  run(named("checked") + checked);
  const auto [first, second] = job_.start_two(4, named("across") + checked);
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();

  EXPECT_EQ(job_.exact_curve("checked"), job_.exact_curve("unchecked"));
  EXPECT_EQ(job_.exact_curve("across"), job_.exact_curve("unchecked"));
}

}  // namespace
}  // namespace d9d::test
