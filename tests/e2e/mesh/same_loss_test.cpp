// The loss curve does not depend on how the job is cut into ranks and processes.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

class SameLoss : public CurveTest {
 protected:
  void SetUp() override { run(named("alone")); }
};

TEST_F(SameLoss, OnOneRankAndOnReplicas) {
  expect_same("replicas", mesh(1, 2));
}

TEST_F(SameLoss, OnOneRankAndOnStagesUnderEachSchedule) {
  expect_same("gpipe", mesh(2, 1) + schedule("gpipe"));
  expect_same("one_f_one_b", mesh(2, 1) + schedule("1f1b"));
}

// Experts on two ranks of every stage, and none in the layer of the first.
TEST_F(SameLoss, WhenOneStageHasNoExpertsAndTheOtherShares) {
  const Words model = set("model_provider.model.mlp_only_layers", "[0]") +
                      set("model_provider.model.intermediate_size", "48");
  run(named("mixed") + model);

  const Words stages = mesh(2, 2) + experts_on(2) + model;
  run(named("full_backward") + stages + schedule("1f1b"));
  run(named("split_backward") + stages + schedule("1f1b, zero_bubble: true"));

  expect_same_curve("full_backward", "mixed", 0.3);
  expect_same_curve("split_backward", "mixed", 0.3);
}

// The head of this model costs as much as two layers: four and two of them on two stages.
TEST_F(SameLoss, WhenLayersAreSplitByCosts) {
  // With other seeds a token may stand between two experts, and a last bit of the norm then becomes 1e-5 of the loss.
  const Words model =
      set("model_provider.model.num_hidden_layers", "6") + set("trainer.determinism.base_seed", "2");
  run(named("six") + model);

  run(named("split") + mesh(2, 1) + schedule("1f1b") + model +
      set("trainer.pipelining.layer_split", "costs"));

  // Deep and narrow: it learns less in 20 steps.
  expect_same_curve("split", "six", 0.15);
}

// The first six steps measure under two programs; the search's program runs the rest.
TEST_F(SameLoss, WhenTheProgramIsSearchedForWhileTheJobRuns) {
  const auto searched = [](const std::string& keys) {
    return set("trainer.pipelining.schedule", "{schedule: auto, measured_steps: 5" + keys + "}");
  };

  const Outcome fixed = job_.run(named("fixed") + mesh(2, 1) + schedule("1f1b"));
  ASSERT_THAT(job_.run(named("searched") + mesh(2, 1) + searched("")),
              says(testing::ContainsRegex("schedule auto, measured per microbatch: stage 0 F [0-9.]+ ms.*"
                                          "bubble [0-9.]+ %; the best fixed schedule, 1f1b")));
  EXPECT_EQ(job_.exact_curve("searched"), job_.exact_curve("fixed"));
  expect_same("with_replicas", mesh(2, 2) + searched(""));
  expect_same("tight", mesh(2, 1) + searched(", activations_max: 1"));
}

TEST_F(SameLoss, OnOneRankAndOnStagesTimesReplicas) {
  expect_same("gpipe", mesh(2, 2) + schedule("gpipe"));
  expect_same("one_f_one_b", mesh(2, 2) + schedule("1f1b"));
}

TEST_F(SameLoss, OnOneRankAndOnRanksThatShareTheExperts) {
  expect_same("two", mesh(1, 2) + experts_on(2));
  expect_same("two_of_four", mesh(1, 4) + experts_on(2));
  expect_same("tensors", mesh(1, 2) + set("mesh.tensor_parallel", "2") + experts_on(4));
  expect_same("stages", mesh(2, 2) + experts_on(2) + schedule("1f1b"));
  const Words split = mesh(2, 2) + experts_on(2) + schedule("1f1b, zero_bubble: true");
  expect_same("split_backward", split);
  expect_same("any_order", split + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(SameLoss, OnOneRankAndOnRanksThatShareMatrices) {
  expect_same("two", matrices_on(2));
  expect_same("more_than_key_heads", matrices_on(4));
  expect_same("replicas", matrices_on(2) + mesh(1, 2));
  expect_same("experts_elsewhere", matrices_on(2) + mesh(1, 2) + experts_on(4));
  const Words split = matrices_on(2) + mesh(2, 1) + schedule("1f1b, zero_bubble: true");
  expect_same("stages", matrices_on(2) + mesh(2, 1) + schedule("1f1b"));
  expect_same("split_backward", split);
  expect_same("any_order", split + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(SameLoss, InTwoProcessesThatShareMatrices) {
  expect_same_in_two_processes("across", 2, matrices_on(2));
  expect_same_in_two_processes("across_and_within", 4, matrices_on(2) + mesh(1, 2) + experts_on(2));
}

TEST_F(SameLoss, InTwoProcessesThatShareTheExperts) {
  expect_same_in_two_processes("across", 2, mesh(1, 2) + experts_on(2));
  expect_same_in_two_processes("across_and_within", 4, mesh(1, 4) + experts_on(4));
  expect_same_in_two_processes("stages", 4, mesh(2, 2) + experts_on(2) + schedule("1f1b"));
}

TEST_F(SameLoss, InTwoProcesses) {
  expect_same_in_two_processes("replicas", 2, mesh(1, 2));
  expect_same_in_two_processes("stages", 2, mesh(2, 1) + schedule("1f1b"));
  expect_same_in_two_processes("both", 4, mesh(2, 2) + schedule("1f1b"));
  expect_same_in_two_processes("searched", 2, mesh(2, 1) + schedule("auto"));
}

TEST_F(SameLoss, InTwoProcessesThatFindEachOtherByTheLaunchersVariables) {
  const Words words = named("variables") + mesh(1, 2) + Words{"--ranks", "1"};

  const auto first = job_.start(
      words, {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "0"}, {"NODE_RANK", "0"}, {"NNODES", "2"}});
  const auto second = job_.start(
      words,
      {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port_of(*first)}, {"NODE_RANK", "1"}, {"NNODES", "2"}});

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  expect_same_curve("variables");
}

}  // namespace
}  // namespace d9d::test
