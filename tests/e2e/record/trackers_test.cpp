// Jobs that tell a tracker with a client in Python. The client is a stand-in that writes down how it is called; with
// D9D_TRACKERS_PYTHON, a Python that has wandb, mlflow and aim, the real ones are read back, too.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* tracker = "{provider: wandb, project: p, mode: offline}";

class Trackers : public testing::Test {
 protected:
  Outcome run(const Words& words, const Environment& more = {}) {
    Environment environment{{"PYTHONPATH", D9D_SOURCE_DIR "/tests/support/clients"},
                            {"FAKE_CLIENT_LOG", (job_.folder().path() / "calls").string()}};
    environment.insert(more.begin(), more.end());
    const auto process = job_.start(set("trainer.logging.tracker", tracker) + words, environment);
    const int code = process->wait();
    return {code, process->out(), process->err()};
  }
  std::vector<json> calls(const std::string& name) const {
    auto all = json_lines(job_.folder() / "calls");
    std::erase_if(all, [&](const json& call) { return call.at("call") != name; });
    return all;
  }
  std::vector<json> lines(const std::string& run_name) const {
    return json_lines(job_.run_folder(run_name) / "metrics.jsonl");
  }
  TinyJob job_;
};

TEST_F(Trackers, TheClientGetsEveryLossOnceAlsoOfAJobThatGoesOn) {
  const Outcome first =
      run(set("trainer.schedule.total_steps", "12") + set("trainer.checkpointing.period_steps", "4"));
  ASSERT_EQ(first.code, 0) << first.err;
  std::filesystem::remove_all(job_.run_folder("tiny") / "checkpoints" / "save-12");

  ASSERT_THAT(run(set("trainer.checkpointing.period_steps", "4")), says("resuming from"));
  // Steps 9 to 12 were sent by the first job, whose learning rate fell earlier: they stay as they were sent.
  const std::vector<double> written = job_.losses("tiny");
  int step = 0;
  for (const json& call : calls("log")) {
    if (!call["values"].contains("loss")) continue;
    EXPECT_EQ(call["step"], ++step);
    if (step > 8 && step <= 12) continue;
    EXPECT_EQ(call["values"]["loss"], written.at(static_cast<std::size_t>(step) - 1)) << "step " << step;
  }
  EXPECT_EQ(step, 20);
  ASSERT_EQ(calls("init").size(), 2U);
  EXPECT_EQ(calls("init")[1]["id"], "the-first-id");
  EXPECT_EQ(calls("init")[0]["config"]["optimizer/name"], "adamw");
  EXPECT_EQ(calls("finish")[1]["exit_code"], 0);
}

TEST_F(Trackers, AMeasuredPeakMakesAUtilisationBelowOne) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    ASSERT_THAT(run(named(dtype) + set("trainer.logging.measure_peak", "true") +
                    set("model_provider.dtype", dtype) + set("trainer.schedule.total_steps", "6")),
                says(std::string("products of ") + dtype + " matrices with"));
    const auto all = lines(dtype);
    ASSERT_EQ(all.size(), 6U);
    const double peak = all[0].at("measured_peak");
    EXPECT_GT(peak, 1e8);
    EXPECT_FALSE(all[1].contains("measured_peak"));
    for (const auto& step : all) {
      const double rate = step.at("flops_per_second");
      EXPECT_GT(rate, 0);
      EXPECT_LT(rate, peak);
      EXPECT_NEAR(step.at("mfu"), rate / peak, 1e-6);
    }
  }
}

// Of groups of parameters, on one rank and on a mesh that shards, replicates and cuts the model in stages.
TEST_F(Trackers, StatisticsAndHistogramsAreTheSameOnAnyMesh) {
  const Words watched = set("trainer.logging.statistics", "{all: '*', norms: '*norm*'}") +
                        set("trainer.logging.histograms", "true") +
                        set("trainer.logging.peak_flops", "1e12") + set("trainer.schedule.total_steps", "6");
  const auto of_mesh = [&](const std::string& name, const Words& mesh) {
    EXPECT_THAT(run(named(name) + watched + mesh), ends_well());
    return lines(name);
  };
  const auto alone =
      of_mesh("alone", set("mesh.pipeline_parallel", "1") + set("mesh.data_parallel_replicate", "1"));
  const auto many =
      of_mesh("many", set("mesh.pipeline_parallel", "2") + set("mesh.data_parallel_replicate", "1") +
                          set("mesh.data_parallel_shard", "2"));

  ASSERT_EQ(alone.size(), 6U);
  ASSERT_EQ(many.size(), 6U);
  for (std::size_t step = 0; step < alone.size(); ++step) {
    // The norm of all gradients is counted elsewhere, too.
    const double norm = alone[step]["grad_norm"];
    EXPECT_NEAR(alone[step]["metrics/statistics/all/gradient_norm"].get<double>(), norm, 1e-4 * norm);
    for (const char* name :
         {"all/gradient_norm", "all/gradient_max", "all/parameter_norm", "all/parameter_mean",
          "norms/gradient_norm", "norms/parameter_max", "norms/parameter_not_finite"}) {
      const std::string key = std::string("metrics/statistics/") + name;
      const double expected = alone[step][key];
      EXPECT_NEAR(many[step][key].get<double>(), expected, 1e-4 * std::abs(expected)) << key;
    }
    for (const auto* lines : {&alone, &many}) {
      const json& histogram = (*lines)[step]["metrics/statistics/all/parameter"];
      ASSERT_EQ(histogram["edges"].size(), histogram["counts"].size() + 1);
      double elements = 0;
      for (const double count : histogram["counts"]) elements += count;
      double first = 0;
      for (const double count : alone[0]["metrics/statistics/all/parameter"]["counts"]) first += count;
      EXPECT_EQ(elements, first) << "every parameter is counted once";
    }
    const double flops = alone[step]["flops_per_second"];
    EXPECT_GT(flops, 0);
    EXPECT_DOUBLE_EQ(alone[step]["mfu"].get<double>(), flops / 1e12);
    EXPECT_NEAR(many[step]["metrics/perplexity"].get<double>(), std::exp(many[step]["loss"].get<double>()),
                1e-2);
  }
  json sent;
  for (const json& call : calls("log")) {
    if (call["values"].contains("metrics/statistics/all/gradient"))
      sent = call["values"]["metrics/statistics/all/gradient"];
  }
  ASSERT_TRUE(sent.contains("edges")) << "the client gets it as a histogram";
  EXPECT_EQ(sent["edges"].size(), sent["counts"].size() + 1);
}

TEST_F(Trackers, AServiceThatIsGoneCostsNoStep) {
  EXPECT_THAT(run({}, {{"FAKE_CLIENT_FAILS", "1"}}), says("wandb did not get all numbers"));
  EXPECT_EQ(job_.losses("tiny").size(), 20U);
}

TEST_F(Trackers, ASlowServiceGetsTheRestAfterTheJob) {
  EXPECT_THAT(run({}, {{"FAKE_CLIENT_SECONDS", "5"}}),
              says(AllOf(HasSubstr("wandb still gets its numbers"), Not(HasSubstr("leaving without them")))));
  EXPECT_LT(calls("log").size(), 20U);
}

TEST_F(Trackers, AMissingPackageIsSaidBeforeTheFirstStep) {
  EXPECT_THAT(run(set("trainer.logging.tracker", "{provider: mlflow, experiment: e}"),
                  {{"D9D_PYTHON", "/usr/bin/env"}}),
              is_refused("pip install mlflow"));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

// TRACK-04
TEST_F(Trackers, GetTheContextOfAValueAsTheyCan) {
  ASSERT_THAT(
      run(named("apart") + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_groups_plugin.so]") +
          set("task", "{name: talking}") + set("trainer.schedule.total_steps", "2") +
          set("trainer.logging.tracker", std::string("[") + tracker + ", {provider: aim, repo: aims}]")),
      ends_well());
  EXPECT_EQ(lines("apart").at(0).at("begin/talkers"), 1);
  EXPECT_EQ(calls("log").at(0).at("values").at("begin/talkers"), 1);
  std::map<std::string, json> contexts;
  for (const json& call : calls("track")) contexts[call.at("name")] = call.at("context");
  EXPECT_EQ(contexts["talkers"], (json{{"stage", "train"}, {"subset", "begin"}}));
  EXPECT_EQ(contexts["loss"], (json{{"stage", "train"}}));
}

TEST_F(Trackers, TheRealClientsReadBackEveryLoss) {
  const char* python = std::getenv("D9D_TRACKERS_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "set D9D_TRACKERS_PYTHON to a Python that has wandb, mlflow and aim";
  const std::string folder = job_.folder().path().string();
  const std::string all = "[" + std::string(tracker) +
                          ", {provider: mlflow, experiment: e, tracking_uri: 'sqlite:///" + folder +
                          "/mlflow.db'}, {provider: aim, repo: '" + folder + "/aim'}]";
  const auto job = job_.start(set("trainer.logging.tracker", all), {{"D9D_PYTHON", python}});
  ASSERT_EQ(job->wait(), 0) << job->err();

  Process reader({.words = {python, D9D_SOURCE_DIR "/tests/e2e/record/read_trackers.py", folder},
                  .folder = job_.folder().path(),
                  .name = "reader"});
  ASSERT_EQ(reader.wait(), 0) << reader.err();

  const json read = json::parse(reader.out());
  for (const char* provider : {"wandb", "mlflow", "aim"})
    EXPECT_EQ(read[provider].get<std::vector<double>>(), job_.losses("tiny")) << provider;
}

}  // namespace
}  // namespace d9d::test
