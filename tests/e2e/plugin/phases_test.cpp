// A step of one's own: phases with losses of their own and forward passes for them, and gradient hooks, on any mesh.
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::SizeIs;

using Gradients = std::map<std::string, at::Tensor>;

Words phases_library() {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_phases_plugin.so]");
}
Words phased(const std::string& steps) {
  return phases_library() + set("task", "{name: phased, steps: " + steps + "}");
}
Words hooks(const std::string& list) {
  return phases_library() + set("gradient_hooks", "[" + list + "]");
}
Words shards(int ranks) {
  return set("mesh.data_parallel_shard", std::to_string(ranks));
}
// After one step the velocity is the gradient.
Words one_step() {
  return set("optimizer", "{name: sgd, lr: 0.1, momentum: 0.9}") + set("trainer.schedule.total_steps", "1") +
         set("lr_scheduler", "null") + set("trainer.gradient_clipping", "{max_norm: null}");
}

class Phases : public CurveTest {
 protected:
  // With less to learn from each token than next-token prediction alone.
  void expect_same_as_alone(const std::string& name) { expect_same_curve(name, "alone", 0.1); }
  void expect_like_alone(const std::string& name, const Words& words) {
    SCOPED_TRACE(name);
    run(named(name) + words);
    expect_same_as_alone(name);
  }
  Gradients gradients(const std::string& run) const {
    const auto reader = CheckpointReader::open(disk_, (job_.run_folder(run) / "checkpoints/save-1").string());
    Gradients all;
    for (const TensorSpec& spec : reader->specs("momentum_buffer"))
      all[spec.name] = reader->read("momentum_buffer", spec.name);
    return all;
  }
  PosixDisk disk_;
};

TEST_F(Phases, WithTwoLossesAreTheSequentialStepToTheBit) {
  run(named("sequential") + phased("one_by_one"));

  run(named("halves") + phased("halves"));

  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("sequential"));
  EXPECT_THAT(job_.values("halves", "metrics/loss_of/next"), SizeIs(20));
  const auto next = job_.values("halves", "metrics/loss_of/next"),
             copy = job_.values("halves", "metrics/loss_of/copy");
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR((next[i] + copy[i]) / 2, job_.losses("halves")[i], 1e-6) << "both have as many tokens";
}

TEST_F(Phases, GiveTheSameCurveOnAnyMesh) {
  run(named("alone") + phased("halves"));

  expect_like_alone("replicas", phased("halves") + mesh(1, 2));
  expect_like_alone("stages", phased("halves") + mesh(2, 1) + schedule("1f1b"));
  expect_like_alone("split", phased("halves") + mesh(2, 2) + schedule("1f1b, zero_bubble: true"));
  expect_like_alone("shards", phased("halves") + shards(2));
  expect_like_alone("matrices", phased("halves") + matrices_on(2));
  expect_like_alone("sequences", phased("halves") + set("mesh.context_parallel_shard", "2"));
  expect_like_alone("experts", phased("halves") + mesh(1, 2) + experts_on(2));
  run_in_two_processes("two_processes", 4, phased("halves") + mesh(2, 2) + schedule("1f1b"));
  expect_same_as_alone("two_processes");
  run_in_two_processes("two_devices", 4,
                       phased("halves") + mesh(2, 2) + schedule("1f1b") + set("node.device", "delayed"));
  EXPECT_EQ(job_.exact_curve("two_devices"), job_.exact_curve("two_processes"));
}

// The weights by which tokens count come from the outputs of a forward phase, kept on the last stage.
TEST_F(Phases, ThatAreForwardAloneGiveLaterOnesWhatTheyNeed) {
  job_.rewrite("num_hidden_layers: 2", "num_hidden_layers: 4");
  run(named("sequential") + phased("paced_one_by_one"));
  run(named("alone") + phased("paced"));
  EXPECT_EQ(job_.exact_curve("alone"), job_.exact_curve("sequential"));

  expect_like_alone("stages", phased("paced") + mesh(2, 2) + schedule("1f1b"));
  EXPECT_THAT(job_.call({"trace", (job_.run_folder("stages") / "traces/trace.json.gz").string(), "--timeline",
                         "stages.svg"}),
              ends_well());
  expect_like_alone("v", phased("paced") + mesh(2, 1) + schedule("dual_pipe_v"));
  expect_like_alone("dynamic", phased("paced") + mesh(2, 1) + schedule("1f1b, zero_bubble: true") +
                                   set("trainer.pipelining.order", "dynamic"));
  expect_like_alone("measured", phased("paced") + mesh(2, 1) + schedule("auto, measured_steps: 5"));
  expect_like_alone("shards", phased("paced") + shards(2) + mesh(2, 1) + schedule("1f1b"));
  expect_like_alone("matrices", phased("paced") + matrices_on(2));
}

TEST_F(Phases, GoOnFromACheckpointToTheBitAndOnAnotherMesh) {
  run(named("alone") + phased("paced"));

  run_in_halves("halves", phased("paced"), phased("paced"));
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("alone"));
  run_in_halves("elsewhere", phased("paced") + mesh(1, 2), phased("paced") + mesh(2, 1) + schedule("1f1b"));
  expect_same_as_alone("elsewhere");
}

TEST_F(Phases, LeaveEvaluationsToTheFirstLoss) {
  run(named("alone") + phased("halves") +
      set("evaluation",
          "{data: {source: synthetic, sequence_length: 32, vocab_size: 512}, period_steps: 10, batches: 2}"));

  const auto losses = job_.values("alone", "evaluation/loss");
  ASSERT_THAT(losses, SizeIs(2));
  EXPECT_LT(losses[1], losses[0]);
}

TEST_F(Phases, ArePrintedByCheck) {
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + phased("paced")),
              prints("step      look: forward alone over batch 1 of 2\n"
                     "          next: forward, loss and backward over batch 1 of 2\n"
                     "          copy: forward, loss and backward over batch 2 of 2\n"));
}

TEST_F(Phases, ThatCannotBeAreRefusedByName) {
  expect_refused(phased("late_forward"),
                 "the forward phase \"look\" of the task's step comes after a phase that trains");
  expect_refused(
      phased("thirds"),
      "trainer.batching.global_batch_size: 8 is not divisible by the batches of the task's step (3)");
  expect_refused(hooks("{name: clump, limit: 1}"),
                 "no gradient hook is called \"clump\"; there are: clip_value, skip");
  expect_refused(set("gradient_hooks", "[{name: clip_value, limit: 0}]"), "limit");
  expect_refused(set("gradient_hooks", "[{name: clip_value, limits: 1}]"), "limits: unknown key");
}

// By hand: each gradient of a run without the hook, clamped; the norm of them all.
TEST_F(Phases, AreFollowedByHooksOfTheReducedGradients) {
  constexpr double limit = 2e-4;
  const Words clamp = set("gradient_hooks", "[{name: clip_value, match: '*self_attn*', limit: 2.0e-4}]");
  run(named("plain") + one_step());
  const Gradients plain = gradients("plain");
  const std::vector<std::pair<std::string, Words>> meshes{{"alone", {}},
                                                          {"both", mesh(2, 2) + schedule("1f1b")},
                                                          {"shards", shards(2) + matrices_on(2)},
                                                          {"experts", mesh(1, 2) + experts_on(2)}};
  for (const auto& [name, words] : meshes) {
    SCOPED_TRACE(name);
    run(named(name) + one_step() + clamp + words);

    double squares = 0;
    int changed = 0;
    const Gradients hooked = gradients(name);
    ASSERT_EQ(hooked.size(), plain.size());
    for (const auto& [parameter, gradient] : plain) {
      const bool matches = parameter.find("self_attn") != std::string::npos;
      const at::Tensor expected = matches ? gradient.clamp(-limit, limit) : gradient;
      changed += matches && !expected.equal(gradient);
      const double off = (hooked.at(parameter) - expected).abs().max().item<double>();
      EXPECT_LE(off, 1e-5 * gradient.abs().max().item<double>() + 1e-9) << parameter;
      squares += expected.to(at::kDouble).square().sum().item<double>();
    }
    EXPECT_GT(changed, 3) << "the limit changes something";
    EXPECT_NEAR(job_.values(name, "grad_norm").at(0), std::sqrt(squares), 1e-5 * std::sqrt(squares));
  }
}

// One rank of four says so.
TEST_F(Phases, EndWithoutAnUpdateWhereAHookSaysSo) {
  const Words skip = hooks("{name: skip, every: 3, holds: lm_head}") + phased("halves");
  run(named("alone") + skip);
  EXPECT_EQ(job_.values("alone", "skipped_steps").back(), 6);

  expect_like_alone("both", skip + mesh(2, 2) + schedule("1f1b"));
  EXPECT_EQ(job_.values("both", "skipped_steps").back(), 6);
  run_in_halves("halves", skip, skip);
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("alone"));
}

}  // namespace
}  // namespace d9d::test
