// Jobs that are ended well before their last step: by an actor of examples/own_project,
// or because evaluations get no better.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class EndedJobs : public testing::Test {
 protected:
  // The learning rate is so high that evaluations get worse.
  static Words worse(const std::string& run, const Words& more = {}) {
    return named(run) + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]") +
           set("data", "{source: repeats, length: 32, vocab_size: 16, phrase: 4, samples: 100000}") +
           set("lr_scheduler", "null") +
           set("evaluation",
               "{period_steps: 2, batches: 1, data: {source: repeats, length: 32, vocab_size: 16, phrase: 4, "
               "seed: 2}}") +
           set("model_provider.model.vocab_size", "64") + set("optimizer.lr", "0.5") +
           set("trainer.checkpointing.period_steps", "4") + set("trainer.schedule.total_steps", "400") + more;
  }
  json last_line_of_record(const std::string& run) const {
    return json_lines(job_.run_folder(run) / "run.jsonl").back();
  }
  bool has_export(const std::string& folder) const {
    return std::filesystem::exists(job_.folder().path() / folder / "config.json");
  }

  TinyJob job_;
};

TEST_F(EndedJobs, AnActorEndsAJobWellOnEveryMesh) {
  for (const Words& on : {mesh(1, 1), mesh(2, 2)}) {
    const std::string run = "plateau" + std::to_string(on == mesh(1, 1));
    const Words job =
        worse(run, on + set("actors", "[{name: plateau, least: 0.5}]") + set("export_to", run + "_model"));

    const Outcome ended = job_.run(job);

    ASSERT_THAT(ended, says("the job ends after step"));
    EXPECT_THAT(ended.err, HasSubstr("plateau: no loss below"));
    const auto steps = job_.losses(run).size();
    EXPECT_LT(steps, 400U);
    EXPECT_EQ(job_.checkpoints(run).back(), static_cast<int>(steps)) << "a last checkpoint";
    EXPECT_TRUE(has_export(run + "_model"));
    const json record = last_line_of_record(run);
    EXPECT_EQ(record.at("end"), "finished");
    EXPECT_THAT(record.at("reason").get<std::string>(),
                HasSubstr("ended after step " + std::to_string(steps) + " by plateau: no loss below"));
    const Outcome report = job_.call({"report", "runs/" + run});
    ASSERT_EQ(report.code, 0) << report.err;
    const std::string html = text_of_file(job_.run_folder(run) / "report.html");
    EXPECT_THAT(html, HasSubstr("by plateau: no loss below"));

    EXPECT_THAT(job_.run(job), says(AllOf(HasSubstr("this run was ended after step " + std::to_string(steps)),
                                          HasSubstr("trainer.checkpointing.resume_ended: true"))));
    EXPECT_EQ(job_.losses(run).size(), steps);

    EXPECT_THAT(
        job_.run(job + set("trainer.checkpointing.resume_ended", "true") +
                 set("trainer.schedule.total_steps", std::to_string(steps + 3)) + set("actors", "[]")),
        ends_well());
    EXPECT_EQ(job_.losses(run).size(), steps + 3);
  }
}

// The factor and what the actor remembers go through checkpoints: several starts are one run, to the last digit.
TEST_F(EndedJobs, AResumedJobGoesOnWithTheActorsStateAndItsLearningRate) {
  const auto job = [&](const std::string& run, int steps) {
    return worse(run, set("actors", "[{name: plateau, least: 0.001}]") + mesh(2, 1) +
                          set("trainer.schedule.total_steps", std::to_string(steps)));
  };
  const Outcome whole = job_.run(job("whole", 16));
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (const int steps : {4, 8, 16}) {
    ASSERT_THAT(job_.run(job("parts", steps)), ends_well());
  }

  const auto rates = job_.values("whole", "lr");
  EXPECT_LT(rates.back(), rates.front()) << "the actor was at work";
  EXPECT_EQ(job_.values("parts", "lr"), rates);
  EXPECT_EQ(job_.exact_curve("parts"), job_.exact_curve("whole"));
}

TEST_F(EndedJobs, WhatAnActorDecidesTakesEffectAtTheSameStepInEveryRun) {
  std::vector<double> rates;
  for (int i = 0; i < 3; ++i) {
    const std::string run = "same" + std::to_string(i);
    ASSERT_THAT(job_.run(worse(run, set("actors", "[{name: plateau, least: 0.01}]"))), ends_well());
    if (i == 0) rates = job_.values(run, "lr");
    EXPECT_EQ(job_.values(run, "lr"), rates);
  }
}

TEST_F(EndedJobs, StopAfterEndsAJobWhoseEvaluationsGetNoBetter) {
  for (const Words& on : {mesh(1, 1), mesh(2, 2)}) {
    const std::string run = "stopped" + std::to_string(on == mesh(1, 1));
    const Words job =
        worse(run, on + set("evaluation.stop_after", "2") + set("evaluation.keep_best", "true") +
                       set("export", "best") + set("trainer.checkpointing.period_steps", "2") +
                       set("export_to", run + "_model"));

    const Outcome ended = job_.run(job);

    ASSERT_EQ(ended.code, 0) << ended.err;
    const auto evaluations = job_.values(run, "evaluation/loss");
    // By hand: two in a row that are not below the lowest before them end the job, and none before.
    std::size_t expected = 0;
    double best = evaluations.front();
    for (std::size_t i = 1, worse = 0; i < evaluations.size() && expected == 0; ++i) {
      worse = evaluations[i] < best ? 0 : worse + 1;
      best = std::min(best, evaluations[i]);
      if (worse == 2) expected = i + 1;
    }
    EXPECT_EQ(evaluations.size(), expected);
    EXPECT_EQ(job_.losses(run).size(), 2 * expected) << "with the evaluation, not a step later";
    EXPECT_THAT(ended.err, HasSubstr("evaluation.stop_after: 2 evaluations without a better loss than"));
    EXPECT_TRUE(has_export(run + "_model"));
    EXPECT_THAT(last_line_of_record(run).at("reason").get<std::string>(), HasSubstr("evaluation.stop_after"));

    EXPECT_THAT(job_.run(job), says("this run was ended after step"));
    EXPECT_EQ(job_.losses(run).size(), 2 * expected);
  }
}

// What was counted before a start counts after it.
TEST_F(EndedJobs, StopAfterCountsOnThroughStarts) {
  const auto job = [&](const std::string& run, int steps) {
    return worse(run, set("evaluation.stop_after", "3") + set("trainer.checkpointing.period_steps", "2") +
                          set("trainer.schedule.total_steps", std::to_string(steps)));
  };
  ASSERT_EQ(job_.run(job("whole", 400)).code, 0);
  const auto steps = static_cast<int>(job_.losses("whole").size());
  ASSERT_LT(steps, 400);
  ASSERT_EQ(job_.run(job("parts", steps - 2)).code, 0);
  ASSERT_THAT(job_.run(job("parts", 400)), ends_well());

  EXPECT_EQ(job_.exact_curve("parts"), job_.exact_curve("whole"));
}

TEST_F(EndedJobs, AMetricThatTheTaskDoesNotCountIsRefusedBeforeTraining) {
  EXPECT_THAT(job_.run(worse("unknown", set("evaluation.metric", "f1") + set("evaluation.stop_after", "2"))),
              is_refused("evaluation.higher_is_better"));

  const Outcome missing =
      job_.run(worse("missing", set("evaluation.metric", "f1") + set("evaluation.stop_after", "2") +
                                    set("evaluation.higher_is_better", "true")));
  EXPECT_EQ(missing.code, 2) << missing.err;
  EXPECT_THAT(
      missing.err,
      HasSubstr("evaluation.metric: the task counts no \"f1\"; there is loss, num_tokens, perplexity"));
  EXPECT_TRUE(job_.losses("missing").empty());
}

TEST_F(EndedJobs, PerplexityDecidesAsTheLossDoes) {
  for (const char* metric : {"loss", "perplexity"}) {
    ASSERT_THAT(job_.run(worse(metric, set("evaluation.metric", metric) + set("evaluation.stop_after", "2"))),
                ends_well());
  }

  EXPECT_EQ(job_.losses("perplexity"), job_.losses("loss"));
}

}  // namespace
}  // namespace d9d::test
