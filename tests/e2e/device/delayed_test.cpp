// A job on a delayed device: everything that it computes is late and out of order, and its numbers are the CPU's.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

Words delayed() {
  return set("node.device", "delayed");
}

class DeviceOfAJob : public CurveTest {
 protected:
  std::vector<std::string> curve(const std::string& run, const Words& words,
                                 const Environment& environment = {}) {
    const auto process = job_.start(named(run) + words, environment);
    EXPECT_EQ(process->wait(), 0) << process->err();
    return job_.exact_curve(run);
  }
};

TEST_F(DeviceOfAJob, DelaysWorkAndTrainsToTheBitsOfTheCpu) {
  const auto expected = curve("cpu", {});

  EXPECT_EQ(expected.size(), 20U);
  EXPECT_EQ(curve("delayed", delayed()), expected);
  EXPECT_EQ(curve("again", delayed(), {{"D9D_DELAYED_SEED", "77"}}), expected);
}

TEST_F(DeviceOfAJob, DelaysOtherOptimizersAndEvaluationsToo) {
  const Words half = set("model_provider.dtype", "bfloat16") +
                     set("trainer.gradient_manager.grad_dtype", "float32") +
                     set("optimizer", "{name: adamw, lr: 0.003, master_weights: true}");
  const Words others[] = {half, set("optimizer", "{name: muon, lr: 0.01}"),
                          set("optimizer", "{name: sgd, lr: 0.1, momentum: 0.9}"),
                          set("trainer.gradient_clipping.norm_type", "inf"),
                          set("evaluation",
                              "{period_steps: 10, data: {source: synthetic, sequence_length: 32, "
                              "vocab_size: 512}, batches: 2}")};
  int run = 0;
  for (const Words& words : others) {
    const std::string name = "run" + std::to_string(run++);
    EXPECT_EQ(curve(name + "d", words + delayed()), curve(name, words)) << words.back();
  }
}

TEST_F(DeviceOfAJob, GoesOnFromACheckpointOfAnotherDevice) {
  const auto expected = curve("whole", {});

  run_in_halves("from_cpu", {}, delayed());
  run_in_halves("to_cpu", delayed(), {});

  EXPECT_EQ(job_.exact_curve("from_cpu"), expected);
  EXPECT_EQ(job_.exact_curve("to_cpu"), expected);
}

// Stages, replicas, shards of parameters, of layers, of sequences and of experts: each rank has a device of its own.
TEST_F(DeviceOfAJob, DelaysRanksThatWorkTogetherToo) {
  const auto degree = [](const std::string& key, int ranks) {
    return set("mesh." + key, std::to_string(ranks));
  };
  const Words meshes[] = {degree("pipeline_parallel", 2) + set("trainer.pipelining.order", "dynamic"),
                          degree("pipeline_parallel", 2) + degree("data_parallel_replicate", 2),
                          degree("data_parallel_shard", 2) + degree("tensor_parallel", 2),
                          degree("context_parallel_shard", 2),
                          degree("data_parallel_shard", 2) + set("optimizer", "{name: muon, lr: 0.01}"),
                          degree("data_parallel_shard", 2) + experts_on(2)};
  int run = 0;
  for (const Words& words : meshes) {
    const std::string name = "mesh" + std::to_string(run++);
    EXPECT_EQ(curve(name + "d", words + delayed()), curve(name, words)) << words.back();
  }
}

TEST_F(DeviceOfAJob, RoundsStochasticallyAsTheCpu) {
  const Words half = set("model_provider.dtype", "bfloat16") + set("mesh.data_parallel_shard", "2") +
                     set("optimizer", "{name: stochastic_adamw, lr: 0.01, state_dtype: bfloat16}");
  EXPECT_EQ(curve("delayed", half + delayed()), curve("cpu", half));
}

// As `check` and `run` do where CUDA is missing.
TEST_F(DeviceOfAJob, IsRefusedWithTheRemedyWhereItsLibraryIsMissing) {
  for (const Words& command : {Words{"check", "job.yaml"}, Words{"job.yaml"}}) {
    const auto process =
        job_.spawn(command + delayed(), {{"D9D_DELAYED_PLUGIN", "/nowhere/libd9d_delayed.so"}});
    EXPECT_EQ(process->wait(), 2);
    EXPECT_THAT(process->err(), HasSubstr("error: this build has no plugin of delayed devices: /nowhere/"
                                          "libd9d_delayed.so does not exist; build or install d9d again"));
  }
  EXPECT_FALSE(std::filesystem::exists(job_.folder().path() / "runs"));
}

}  // namespace
}  // namespace d9d::test
