// A step with several updates: of the same parameters with other samples or the same, and of different parameters.
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include <map>

#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::SizeIs;

using Tensors = std::map<std::string, at::Tensor>;

Words two_updates(const std::string& steps) {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_phases_plugin.so]") +
         set("task", "{name: two_updates, steps: " + steps + "}");
}
Words samples_a_step(int samples) {
  return set("trainer.batching.global_batch_size", std::to_string(samples));
}
Words total_steps(int count) {
  return set("trainer.schedule.total_steps", std::to_string(count));
}
// A rate that does not depend on the step's number.
Words constant_rate() {
  return set("lr_scheduler", "null") + set("optimizer.lr", "0.001");
}
// After one step the velocity is the gradient.
Words one_sgd_step() {
  return total_steps(1) + constant_rate() + samples_a_step(4) +
         set("optimizer", "{name: sgd, lr: 0.1, momentum: 0.9}") +
         set("trainer.gradient_clipping", "{max_norm: null}");
}
Words attention_by(const std::string& kind) {
  return set("model_provider.peft", "{kind: " + kind + R"(, module_name_pattern: '.*\.self_attn(\..*)?'})");
}

class Updates : public CurveTest {
 protected:
  Tensors state(const std::string& run, const std::string& kind, int step) const {
    const auto reader = CheckpointReader::open(
        disk_, (job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(step))).string());
    Tensors all;
    for (const TensorSpec& spec : reader->specs(kind)) all[spec.name] = reader->read(kind, spec.name);
    return all;
  }
  void expect_like_alone(const std::string& name, const Words& words) {
    SCOPED_TRACE(name);
    run(named(name) + words);
    expect_same_curve(name, "alone", 0.05);
  }
  PosixDisk disk_;
};

TEST_F(Updates, OfOtherSamplesAreTheStepsOfAJobWithSmallerOnes) {
  run(named("small") + constant_rate() + samples_a_step(4) + total_steps(20));

  run(named("twice") + two_updates("twice") + constant_rate() + samples_a_step(8) + total_steps(10));

  const auto small = job_.losses("small"), first = job_.values("twice", "metrics/loss_of/first"),
             second = job_.values("twice", "metrics/loss_of/second"),
             norms = job_.values("small", "grad_norm"), last_norms = job_.values("twice", "grad_norm");
  ASSERT_THAT(first, SizeIs(10));
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(first[i], small[2 * i], 1e-6 * small[2 * i]) << i;
    EXPECT_NEAR(second[i], small[2 * i + 1], 1e-6 * small[2 * i + 1]) << i;
    EXPECT_EQ(last_norms[i], norms[2 * i + 1]) << "to the last digit: " << i;
    EXPECT_NEAR(job_.losses("twice")[i], (small[2 * i] + small[2 * i + 1]) / 2, 1e-6 * small[2 * i]);
  }
  for (const char* kind : {"param", "exp_avg_sq"}) {
    const Tensors expected = state("small", kind, 20), got = state("twice", kind, 10);
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [name, tensor] : expected)
      EXPECT_TRUE(got.at(name).equal(tensor)) << kind << " " << name;
  }
}

// Beside two jobs, of which one trains the attention alone and the other all else, from where the first has ended.
TEST_F(Updates, OfDifferentParametersMoveNothingElse) {
  run(named("attention") + one_sgd_step() + attention_by("full_tune") + set("export_to", "attention_model"));
  run(named("rest") + one_sgd_step() + attention_by("freeze") +
      set("trainer.model_stage_factory.source_checkpoint", "attention_model"));

  run(named("parts") + two_updates("parts") + one_sgd_step());

  const Tensors moved = state("rest", "param", 1), got = state("parts", "param", 1);
  ASSERT_EQ(got.size(), moved.size());
  for (const auto& [name, tensor] : moved) EXPECT_TRUE(got.at(name).equal(tensor)) << name;
  const Tensors gradients = state("parts", "momentum_buffer", 1);
  for (const std::string run : {"attention", "rest"})
    for (const auto& [name, tensor] : state(run, "momentum_buffer", 1))
      EXPECT_TRUE(gradients.at(name).equal(tensor)) << name;
  EXPECT_EQ(job_.values("parts", "metrics/loss_of/first"), job_.losses("attention"));
  EXPECT_EQ(job_.values("parts", "metrics/loss_of/second"), job_.losses("rest"));
  EXPECT_NEAR(job_.values("parts", "grad_norm").at(0), job_.values("rest", "grad_norm").at(0),
              1e-6 * job_.values("rest", "grad_norm").at(0));
}

TEST_F(Updates, OfDifferentParametersGiveTheSameCurveOnAnyMesh) {
  run(named("alone") + two_updates("parts"));

  expect_like_alone("replicas", two_updates("parts") + mesh(1, 2));
  expect_like_alone("stages", two_updates("parts") + mesh(2, 1) + schedule("1f1b"));
  expect_like_alone("split", two_updates("parts") + mesh(2, 2) + schedule("1f1b, zero_bubble: true"));
  expect_like_alone("shards", two_updates("parts") + set("mesh.data_parallel_shard", "2"));
  expect_like_alone("zero_1", two_updates("parts") + mesh(1, 2) + set("parallelism.zero1", "true"));
  expect_like_alone("matrices", two_updates("parts") + matrices_on(2));
  expect_like_alone("sequences", two_updates("parts") + set("mesh.context_parallel_shard", "2"));
  expect_like_alone("experts", two_updates("parts") + mesh(1, 2) + experts_on(2));
  run_in_two_processes("two_devices", 4,
                       two_updates("parts") + mesh(2, 2) + schedule("1f1b") + set("node.device", "delayed"));
  expect_same_curve("two_devices", "alone", 0.05);
  run(named("muon_alone") + two_updates("parts") + set("optimizer", "{name: muon, lr: 0.003}"));
  run(named("muon") + two_updates("parts") + set("optimizer", "{name: muon, lr: 0.003}") + mesh(2, 2) +
      schedule("1f1b"));
  expect_same_curve("muon", "muon_alone", 0.05);
}

TEST_F(Updates, OverTheSameSamplesSeeWhatWasCarriedBeforeTheFirst) {
  job_.rewrite("num_hidden_layers: 2", "num_hidden_layers: 4");
  run(named("alone") + two_updates("loop"));

  expect_like_alone("stages", two_updates("loop") + mesh(2, 2) + schedule("1f1b"));
  expect_like_alone("v", two_updates("loop") + mesh(2, 1) + schedule("dual_pipe_v"));
  expect_like_alone("dynamic", two_updates("loop") + mesh(2, 1) + schedule("1f1b, zero_bubble: true") +
                                   set("trainer.pipelining.order", "dynamic") + matrices_on(2));
  expect_like_alone("measured", two_updates("loop") + mesh(2, 1) + schedule("auto, measured_steps: 5"));
  run_in_two_processes("two_processes", 4, two_updates("loop") + mesh(2, 2) + schedule("1f1b"));
  expect_same_curve("two_processes", "alone", 0.05);
}

// The hook says so in the second update alone, whose gradients have the head.
TEST_F(Updates, AreSkippedAndCountedEachByItselfAndGoOnToTheBit) {
  const Words skip = set("gradient_hooks", "[{name: skip, every: 3, holds: lm_head}]") + two_updates("parts");
  run(named("alone") + skip);
  EXPECT_EQ(job_.values("alone", "skipped_steps").back(), 6);

  run_in_halves("halves", skip, skip);
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("alone"));
  expect_like_alone("both", skip + mesh(2, 2) + schedule("1f1b"));
  EXPECT_EQ(job_.values("both", "skipped_steps").back(), 6);
}

TEST_F(Updates, ArePrintedByCheck) {
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + two_updates("parts")),
              prints("step      first: forward, loss and backward over batch 1 of 1, for update 1 of "
                     "2 of *self_attn*\n"));
}

TEST_F(Updates, ThatCannotBeAreRefusedByName) {
  expect_refused(two_updates("mixed"),
                 "the phase \"second\" of the task's step comes after one of a later update");
  EXPECT_THAT(job_.run(two_updates("typo") + mesh(2, 1)),
              is_refused("task: update 0 of its step: \"*self_atn*\" matches no parameter of the model"));
  EXPECT_THAT(job_.run(two_updates("forgetful")), is_refused("trains, but no update of its step moves it"));
  run(named("plain") + total_steps(1));
  EXPECT_THAT(job_.run(named("plain") + total_steps(2) + two_updates("twice")),
              is_refused("task: a step has 2 updates and had 1"));
}

}  // namespace
}  // namespace d9d::test
