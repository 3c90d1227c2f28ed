// Evaluation between steps. Training here reads the same eight samples in every step and evaluation too, so the loss
// after step k is the training loss of step k + 1, which a separate computation found.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/support/curve_test.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

Words evaluated(const std::string& more) {
  return set("evaluation", "{data: {source: tokens, tokens: tokens.npy}, " + more + "}");
}

class Evaluation : public CurveTest {
 protected:
  Evaluation() {
    job_.rewrite("{source: synthetic, sequence_length: 32, vocab_size: 512}",
                 "{source: tokens, tokens: tokens.npy, epochs: as_needed}");
    write_samples("tokens.npy", 8);
  }
  void write_samples(const std::string& file, int samples) {
    job_.folder().write(
        file, npy_file(samples, 32, [](int row, int column) {
          return static_cast<std::int32_t>((row * 97 + column * column * 13 + row * column) % 512);
        }));
  }
  void expect_losses_of_the_next_step(const std::string& run) {
    const auto losses = job_.losses(run), evaluations = job_.values(run, "evaluation/loss");
    ASSERT_EQ(losses.size(), 20U) << run;
    ASSERT_EQ(evaluations.size(), 20U) << run;
    EXPECT_LT(losses.back(), losses.front() - 0.5);
    for (std::size_t step = 1; step < losses.size(); ++step) {
      EXPECT_NEAR(evaluations[step - 1], losses[step], 2e-6 * losses[step]) << run << " after step " << step;
    }
  }
  // Every step has an evaluation behind it, whose actions have the same names.
  void expect_a_picture_of_the_last_step(const std::string& run) {
    const Outcome drawn = job_.call(
        {"trace", "runs/" + run + "/traces/trace.json.gz", "--timeline", "runs/" + run + "/last.svg"});
    EXPECT_EQ(drawn.code, 0) << run << ": " << drawn.err;
    EXPECT_THAT(drawn.out, HasSubstr("step 20: measured makespan")) << run;
  }
  void expect_on(const std::string& run, const Words& words) {
    this->run(named(run) + evaluated("period_steps: 1") + words);
    expect_losses_of_the_next_step(run);
  }
};

TEST_F(Evaluation, IsTheLossThatTheNextStepBeginsWith) {
  expect_on("alone", {});
  expect_on("replicas", mesh(1, 2));
  expect_on("matrices", matrices_on(2));
  expect_on("sequences", set("mesh.context_parallel_shard", "2"));
  expect_on("experts", mesh(1, 2) + experts_on(2));
  expect_on("sharded", set("mesh.data_parallel_shard", "2"));
  expect_on("recomputed", set("model_provider.enable_checkpointing", "true"));
}

TEST_F(Evaluation, RunsOverThePipelineOfAnySchedule) {
  job_.rewrite("num_hidden_layers: 2", "num_hidden_layers: 4");
  for (const char* name : {"gpipe", "1f1b", "1f1b, num_stages_per_rank: 2", "1f1b, zero_bubble: true",
                           "zero_bubble_v", "dual_pipe_v", "auto"}) {
    std::string run = name;
    std::erase_if(run, [](char c) { return std::isalnum(c) == 0; });
    expect_on(run, mesh(2, 1) + schedule(name));
    expect_a_picture_of_the_last_step(run);
  }
  expect_on("any_order", mesh(2, 1) + schedule("zero_bubble_v") + set("trainer.pipelining.order", "dynamic") +
                             set("mesh.data_parallel_shard", "2"));
}

TEST_F(Evaluation, RunsOverTwoProcesses) {
  run_in_two_processes("across", 4, mesh(2, 2) + schedule("1f1b") + evaluated("period_steps: 1"));

  expect_losses_of_the_next_step("across");
}

// More batches than may be under way at a time; the last one is not whole, and some ranks have no sample of it.
TEST_F(Evaluation, OfSeveralBatchesIsTheirMeanOnEveryMesh) {
  write_samples("many.npy", 53);
  const Words many = set("evaluation", "{data: {source: tokens, tokens: many.npy}, period_steps: 5}");
  run(named("alone") + many);
  const auto expected = job_.values("alone", "evaluation/loss");
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(job_.values("alone", "evaluation/tokens").front(), 53 * 32);

  run(named("stages") + many + mesh(2, 1) + schedule("1f1b"));
  run(named("replicas") + many + mesh(1, 4));

  for (const char* name : {"stages", "replicas"}) {
    const auto got = job_.values(name, "evaluation/loss");
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5 * expected[i]) << name;
  }
}

TEST_F(Evaluation, LeavesTrainingAsItIs) {
  run(named("without"));
  run(named("with") + evaluated("period_steps: 3"));

  EXPECT_EQ(job_.exact_curve("with"), job_.exact_curve("without"));
}

TEST_F(Evaluation, GoesOnAfterAResume) {
  const Words words = evaluated("period_steps: 1") + mesh(2, 1);
  run(named("through") + words);

  run_in_halves("halves", words, words);

  EXPECT_EQ(job_.values("halves", "evaluation/loss"), job_.values("through", "evaluation/loss"));
}

// Signals within evaluations and before them; each start goes on where the one before was stopped.
class OwedEvaluation : public Evaluation {
 protected:
  OwedEvaluation() { write_samples("many.npy", 400); }
  // The learning rate becomes far too high, so an early checkpoint is the best and evaluations end the job.
  static Words words(const std::string& run) {
    return named(run) + set("trainer.checkpointing", "{period_steps: 2, num_to_keep: 1}") +
           set("export", "best") + set("export_to", "model_of_" + run) +
           set("evaluation",
               "{data: {source: tokens, tokens: many.npy}, period_steps: 2, keep_best: true, stop_after: "
               "3}") +
           set("lr_scheduler.scheduler",
               "{initial_multiplier: 1.0, phases: [{mode: steps, steps: 5, target_multiplier: 1.0, curve: "
               "{type: linear}}, {mode: rest, target_multiplier: 300.0, curve: {type: linear}}]}");
  }
  // Returns the log.
  std::string stop_after(std::size_t steps, const Words& words) {
    const auto job = job_.start(words);
    job_.wait_for_steps(*job, steps, "stopped");
    job->signal(SIGTERM);
    EXPECT_EQ(job->wait(), 128 + SIGTERM) << job->err();
    return job->err();
  }
  // A job that sleeps hears of the signal in the sums of its next step, before an evaluation can begin.
  std::string stop_before_the_evaluation_after(std::size_t step, const Words& words) {
    const auto job = job_.start(words);
    job_.wait_for_steps(*job, step - 2, "stopped");
    job->signal(SIGTSTP);
    job->wait_for_error_text("asleep after step");
    job->signal(SIGTERM);
    EXPECT_EQ(job->wait(), 128 + SIGTERM) << job->err();
    return job->err();
  }
  std::string exported(const std::string& run) const {
    std::ifstream file(job_.folder() / ("model_of_" + run + "/model.safetensors"), std::ios::binary);
    EXPECT_TRUE(file.good()) << run;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void expect_the_same_as_without_signals(const Words& mesh) {
    run(words("through") + mesh);
    const Words stopped = words("stopped") + mesh;
    const std::string left = "the signal came before the end of the evaluation after step";
    EXPECT_THAT(stop_after(2, stopped), HasSubstr(left + " 2: the next start makes up for it"));
    EXPECT_THAT(stop_after(6, stopped),
                HasSubstr("first comes what the run before left undone after step 2"));
    stop_before_the_evaluation_after(10, stopped);
    const Outcome rest = job_.run(stopped);
    EXPECT_EQ(rest.code, 0) << rest.err;

    EXPECT_EQ(job_.exact_curve("stopped"), job_.exact_curve("through"));
    EXPECT_EQ(job_.values("stopped", "evaluation/loss"), job_.values("through", "evaluation/loss"));
    EXPECT_EQ(job_.checkpoints("stopped"), job_.checkpoints("through"));
    EXPECT_EQ(exported("stopped"), exported("through"));
    EXPECT_THAT(rest.err, HasSubstr("evaluation.stop_after: 3 evaluations without a better loss"));
  }
};

TEST_F(OwedEvaluation, IsMadeByTheNextStartSoThatAllIsAsWithoutSignals) {
  expect_the_same_as_without_signals({});
}

TEST_F(OwedEvaluation, IsMadeByTheNextStartOfAPipeline) {
  expect_the_same_as_without_signals(mesh(2, 1) + schedule("1f1b"));
}

// The learning rate becomes far too high, so an early checkpoint is the best.
TEST_F(Evaluation, KeepsTheBestCheckpointBesideTheNewest) {
  const Words words =
      named("best") + set("trainer.checkpointing", "{period_steps: 4, num_to_keep: 1}") +
      set("lr_scheduler.scheduler",
          "{initial_multiplier: 1.0, phases: [{mode: steps, steps: 8, target_multiplier: 1.0, curve: "
          "{type: linear}}, {mode: rest, target_multiplier: 300.0, curve: {type: linear}}]}");
  run(words + evaluated("period_steps: 4, keep_best: true"));

  const auto losses = job_.values("best", "evaluation/loss");
  ASSERT_EQ(losses.size(), 5U);
  const auto lowest = std::min_element(losses.begin(), losses.end()) - losses.begin();
  ASSERT_LT(lowest, 4) << "the newest is the best, so nothing is shown";
  EXPECT_THAT(job_.checkpoints("best"), testing::ElementsAre(4 * (lowest + 1), 20));
}

TEST_F(Evaluation, IsRefusedWhereItsDataDoNotFit) {
  const auto refused = [&](const Words& words, const char* text) {
    EXPECT_THAT(job_.run(named("refused") + words), is_refused(text));
  };
  refused(evaluated("period_steps: 1, batches: 2"), "but evaluation.data gives 1 (8 samples, 8 in a batch)");
  refused(evaluated("period_steps: 0"), "evaluation.period_steps");
  refused(
      set("evaluation", "{data: {source: synthetic, sequence_length: 32, vocab_size: 512}, period_steps: 1}"),
      "evaluation.batches: missing, and synthetic data never ends");
  refused(
      set("evaluation",
          "{data: {source: synthetic, sequence_length: 512, vocab_size: 512}, period_steps: 1, batches: 1}"),
      "evaluation.data.sequence_length: 512 tokens, but the model has positions for 128");
  refused(
      set("evaluation",
          "{data: {source: synthetic, sequence_length: 32, vocab_size: 999}, period_steps: 1, batches: 1}"),
      "evaluation.data.vocab_size: 999 tokens");
}

}  // namespace
}  // namespace d9d::test
