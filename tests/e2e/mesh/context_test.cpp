// Jobs whose sequences are shared by ranks: the same curve on every mesh, order and process, the same
// checkpoints, and the debug switch that watches over their collectives.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"
#include "tests/support/npy_file.hpp"

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
const Words two_stages =
    set("mesh.pipeline_parallel", "2") + set("trainer.pipelining.schedule", "{schedule: 1f1b}");

class Context : public CurveTest {
 protected:
  void expect_same_counts(const std::string& name) {
    for (const char* count : {"tokens", "metrics/num_tokens"}) {
      EXPECT_EQ(job_.values(name, count), job_.values("alone", count)) << name;
    }
  }
};

TEST_F(Context, OneCurveWhicheverWayAttentionReachesTheRest) {
  run(named("alone"));

  expect_same("two", sequences_on(2));
  expect_same("four", sequences_on(4) + by("ring", "contiguous"));
  expect_same("heads", sequences_on(2) + by("ulysses", "zigzag"));
  expect_same("more_ranks_than_key_heads", sequences_on(4) + by("ulysses", "contiguous"));
  expect_same("both_kinds", sequences_on(2) + set("mesh.context_parallel_replicate", "2"));
  for (const char* name : {"two", "four", "heads", "both_kinds"}) expect_same_counts(name);
}

TEST_F(Context, OneCurveWithStagesReplicasAndExperts) {
  run(named("alone"));

  expect_same("stages", sequences_on(2) + two_stages);
  expect_same("replicas", sequences_on(2) + mesh(1, 2));
  expect_same_counts("replicas");
  expect_same("experts", sequences_on(2) + experts_on(2));
  expect_same("checkpointed", sequences_on(2) + set("model_provider.enable_checkpointing", "true"));
  expect_same("split_backward",
              sequences_on(2) + set("mesh.pipeline_parallel", "2") +
                  set("trainer.pipelining.schedule", "{schedule: 1f1b, zero_bubble: true}"));
  expect_same("any_order", sequences_on(2) + two_stages + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(Context, OneCurveInTwoProcesses) {
  run(named("alone"));

  expect_same_in_two_processes("across", 2, sequences_on(2));
  expect_same_in_two_processes("heads_across", 2, sequences_on(2) + by("ulysses", "zigzag"));
  expect_same_in_two_processes("stages", 4, sequences_on(2) + two_stages);
}

TEST_F(Context, ACheckpointOfTwoRanksIsReadByOne) {
  run(named("alone"));

  expect_same_in_halves("halves", sequences_on(2), {});
}

TEST_F(Context, RefusesSequencesThatCannotBeDealtOut) {
  EXPECT_THAT(job_.run(sequences_on(2) + set("data.sequence_length", "30")),
              is_refused(AllOf(HasSubstr("data.sequence_length: 30 tokens cannot be dealt out to 2"),
                               HasSubstr("give 28 or 32"))));
}

TEST_F(Context, RefusesTokensThatCannotBeDealtOutBeforeItStarts) {
  job_.folder().write("tokens.npy", npy_file(8, 31, [](int, int column) { return column; }));

  EXPECT_THAT(job_.run(named("odd") + sequences_on(2) + set("data", "{source: tokens, tokens: tokens.npy}")),
              is_refused(AllOf(HasSubstr("data.tokens: 31 tokens cannot be dealt out to 2"),
                               HasSubstr("give 28 or 32"))));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("odd")));
}

TEST_F(Context, CheckedCollectivesTrainTheSameToTheLastBit) {
  const Words words = sequences_on(2) + mesh(1, 2) + experts_on(2);
  const Words checked = words + set("debug.check_collectives", "true");
  run(named("unchecked") + words);

  run(named("checked") + checked);
  run_in_two_processes("across", 4, checked);

  EXPECT_EQ(job_.exact_curve("checked"), job_.exact_curve("unchecked"));
  EXPECT_EQ(job_.exact_curve("across"), job_.exact_curve("unchecked"));
}

}  // namespace
}  // namespace d9d::test
