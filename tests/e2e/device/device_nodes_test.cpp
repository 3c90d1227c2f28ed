// Jobs with devices in two processes: NCCL's communicators between them, tensors of stages from device to device over
// the host's connections; and how they end. The devices are delayed ones, and NCCL is emulated.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

Words on_delayed() {
  return set("node.device", "delayed");
}
Words axis(const std::string& key, int ranks) {
  return set("mesh." + key, std::to_string(ranks));
}

class DeviceNodes : public CurveTest {
 protected:
  std::vector<std::string> curve(const std::string& run, int ranks, const Words& words) {
    run_in_two_processes(run, ranks, words);
    return job_.exact_curve(run);
  }
  // On two ranks in two processes, on four where the mesh has four.
  void expect_the_bits_of_the_cpu(const std::string& name, int ranks, const Words& words) {
    SCOPED_TRACE(name);
    const auto expected = curve(name, ranks, words);
    EXPECT_EQ(expected.size(), 20U);
    EXPECT_EQ(curve(name + "_delayed", ranks, words + on_delayed()), expected);
  }
  // Two processes of one rank each.
  using Both = std::pair<std::unique_ptr<Process>, std::unique_ptr<Process>>;
  Both start_both(const Words& words, const Environment& of_first, const Environment& of_second) {
    const Words half = words + Words{"--ranks", "1"};
    auto first = job_.start(half + Words{"--listen", "127.0.0.1:0"}, of_first);
    auto second = job_.start(half + Words{"--join", "127.0.0.1:" + port_of(*first)}, of_second);
    return {std::move(first), std::move(second)};
  }
};

TEST_F(DeviceNodes, SumGradientsToTheBitsOfTheCpu) {
  expect_the_bits_of_the_cpu("replicas", 2, mesh(1, 2));
  expect_the_bits_of_the_cpu("shards", 2,
                             axis("data_parallel_shard", 2) + set("debug.check_collectives", "true"));
  expect_the_bits_of_the_cpu("both", 4, axis("data_parallel_shard", 2) + axis("data_parallel_replicate", 2));
}

TEST_F(DeviceNodes, HandTensorsFromStageToStage) {
  expect_the_bits_of_the_cpu("stages", 2, mesh(2, 1) + schedule("1f1b"));
  expect_the_bits_of_the_cpu("split", 2, mesh(2, 1) + schedule("1f1b, zero_bubble: true"));
  expect_the_bits_of_the_cpu("any_order", 2,
                             mesh(2, 1) + schedule("1f1b") + set("trainer.pipelining.order", "dynamic"));
  expect_the_bits_of_the_cpu(
      "in_a_v", 2, mesh(2, 1) + schedule("dual_pipe_v") + set("model_provider.model.num_hidden_layers", "4"));
  expect_the_bits_of_the_cpu("replicas_too", 4, mesh(2, 2) + schedule("1f1b"));
  expect_the_bits_of_the_cpu("tied", 2, mesh(2, 1) + set("model_provider.model.tie_word_embeddings", "true"));
}

// Reference PIPE-14: parts of composed actions on two compute streams, evaluations between the steps.
TEST_F(DeviceNodes, OverlapActionsOfTheStagesOfAV) {
  const Words in_a_v = schedule("dual_pipe_v") + set("model_provider.model.num_hidden_layers", "4") +
                       set("trainer.pipelining.overlap", "always") +
                       set("trainer.batching.global_batch_size", "16") +
                       set("evaluation",
                           "{period_steps: 10, data: {source: synthetic, sequence_length: 32, "
                           "vocab_size: 512}, batches: 2}");
  expect_the_bits_of_the_cpu("alone", 2, mesh(2, 1) + in_a_v);
  expect_the_bits_of_the_cpu("any_order", 2,
                             mesh(2, 1) + in_a_v + set("trainer.pipelining.order", "dynamic"));
  expect_the_bits_of_the_cpu("experts", 4,
                             mesh(2, 2) + experts_on(2) + in_a_v + set("debug.check_collectives", "true"));
}

TEST_F(DeviceNodes, HandTensorsOfHalfTheBytesInAnotherOrderOfWork) {
  const Words half = mesh(2, 1) + schedule("1f1b") + set("model_provider.dtype", "bfloat16") +
                     set("optimizer", "{name: stochastic_adamw, lr: 0.01, state_dtype: bfloat16}");
  const auto expected = curve("cpu", 2, half);

  for (const char* const seed : {"5", "77"}) {
    const Environment order{{"D9D_DELAYED_SEED", seed}};
    const auto [first, second] = start_both(named(seed) + half + on_delayed(), order, order);
    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();
    EXPECT_EQ(job_.exact_curve(seed), expected);
  }
}

TEST_F(DeviceNodes, ShareLayersExpertsAndSequences) {
  expect_the_bits_of_the_cpu("matrices", 2, matrices_on(2));
  expect_the_bits_of_the_cpu("experts", 2, mesh(1, 2) + experts_on(2));
  expect_the_bits_of_the_cpu("sequences", 2, axis("context_parallel_shard", 2));
  expect_the_bits_of_the_cpu("matrices_within", 4,
                             matrices_on(2) + axis("data_parallel_shard", 2) + experts_on(4));
}

TEST_F(DeviceNodes, EvaluateWhatTheyTrain) {
  const Words evaluation = set("evaluation",
                               "{period_steps: 10, data: {source: synthetic, sequence_length: 32, "
                               "vocab_size: 512}, batches: 2}");
  expect_the_bits_of_the_cpu("stages", 2, mesh(2, 1) + evaluation);
  expect_the_bits_of_the_cpu("replicas", 2, mesh(1, 2) + evaluation);
}

TEST_F(DeviceNodes, GoOnFromACheckpointOnAnotherMeshAndOnTheCpu) {
  const auto in_halves = [&](const std::string& run, const Words& first, const Words& second) {
    run_in_two_processes(run, 2, first);
    std::filesystem::remove_all(job_.run_folder(run) / "checkpoints/save-20");
    run_in_two_processes(run, 2, second);
    EXPECT_EQ(job_.losses(run).size(), 20U);
  };
  const Words shards = axis("data_parallel_shard", 2), stages = mesh(2, 1);
  in_halves("cpu", shards, stages);
  in_halves("devices", shards + on_delayed(), stages + on_delayed());
  in_halves("back", shards + on_delayed(), stages);

  EXPECT_EQ(job_.exact_curve("devices"), job_.exact_curve("cpu"));
  EXPECT_EQ(job_.exact_curve("back"), job_.exact_curve("cpu"));
}

TEST_F(DeviceNodes, SleepAndWake) {
  const Words words =
      mesh(2, 1) + axis("data_parallel_shard", 2) + on_delayed() + set("trainer.schedule.total_steps", "200");
  const auto expected = curve("whole", 4, words);
  const auto [first, second] = job_.start_two(4, words);
  first->wait_for_error_text("step 1/");

  second->signal(SIGTSTP);
  first->wait_for_error_text("asleep after step");
  first->signal(SIGCONT);

  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.exact_curve("tiny"), expected);
}

TEST_F(DeviceNodes, EndWhereACollectiveHangsOrFailsInOneProcess) {
  const Words job = axis("data_parallel_shard", 2) + on_delayed() + set("trainer.timeout.step_timeout", "3");
  for (const char* const fault : {"hang:0:40", "error:0:40"}) {
    const auto [first, second] = start_both(job, {}, {{"D9D_NCCL_FAULT", fault}});

    EXPECT_EQ(first->wait(seconds(60)), 1) << fault;
    EXPECT_EQ(second->wait(seconds(60)), 1) << fault;
    EXPECT_THAT(first->err() + second->err(),
                AllOf(HasSubstr("(nccl)"), HasSubstr("dp_cp_shard[0,1]"), HasSubstr("ranks 0, 1")));
  }
}

// Told by the ranks' launches, before the Trainer could only say that the step takes too long.
TEST_F(DeviceNodes, NameWhatHangsInALaterStepBeforeItsDeadline) {
  const Words job = axis("data_parallel_shard", 2) + on_delayed() +
                    set("trainer.timeout.init_timeout", "600") + set("trainer.timeout.step_timeout", "6");
  const auto [first, second] = start_both(job, {}, {{"D9D_NCCL_FAULT", "hang:0:100"}});

  EXPECT_EQ(first->wait(seconds(60)), 1);
  EXPECT_EQ(second->wait(seconds(60)), 1);
  EXPECT_THAT(first->err() + second->err(),
              AllOf(HasSubstr("not done 4500 ms after it could begin"), HasSubstr("dp_cp_shard[0,1]")));
}

TEST_F(DeviceNodes, EndWhenOneIsKilled) {
  for (const Words& ranks : {axis("data_parallel_shard", 2), mesh(2, 1)}) {
    const auto [first, second] =
        start_both(ranks + on_delayed() + set("trainer.schedule.total_steps", "100000"), {}, {});
    first->wait_for_error_text("step 1/");

    second->kill();

    EXPECT_EQ(first->wait(seconds(60)), 1) << first->err();
    EXPECT_THAT(first->err(), AnyOf(HasSubstr("node 1"), HasSubstr("remote process ended")));
  }
}

TEST_F(DeviceNodes, RefuseOneThatComputesElsewhere) {
  const Words half = mesh(1, 2) + Words{"--ranks", "1"};
  const auto first = job_.start(half + on_delayed() + Words{"--listen", "127.0.0.1:0"});

  const auto stranger = job_.start(half + Words{"--join", "127.0.0.1:" + port_of(*first)});

  EXPECT_EQ(stranger->wait(), 1);
  EXPECT_THAT(stranger->err(),
              HasSubstr("differs from node 0's in node.device (\"delayed\" at node 0, \"cpu\" there)"));
  EXPECT_TRUE(first->running());
}

TEST_F(DeviceNodes, RefuseWhatOnlyOneProcessCan) {
  const Words local = mesh(1, 2) + on_delayed() + set("node.collectives", "local") + set("node.ranks", "1");
  const Words sharing = mesh(1, 4) + on_delayed() + set("node.devices", "1") + set("node.ranks", "2");

  expect_refused(local, "only NCCL joins devices of several nodes; set node.collectives: nccl");
  expect_refused(sharing, "2 of the mesh's 4 ranks share a device of this node");

  const Words clear = mesh(1, 2) + on_delayed() + set("node.ranks", "1") + set("node.listen", "0.0.0.0:0") +
                      set("node.tls", "{ca: job.yaml, certificate: job.yaml, key: job.yaml}");
  expect_refused(clear, "0.0.0.0 leads beyond this host: set node.clear_collectives: true");

  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

}  // namespace
}  // namespace d9d::test
