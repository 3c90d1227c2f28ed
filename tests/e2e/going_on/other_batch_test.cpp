// Jobs that go on with another batch size: no sample is lost or repeated, and phases of the learning rate stay. What a
// step must have read is counted by hand; its loss is the mean of those that inference finds for these samples.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/e2e/going_on/batch_jobs.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int samples = 40;

constexpr const char* data_yaml =
    "data: {source: token_lists, files: [d.jsonl], format: jsonl, samples: document, sequence_length: 5}\n";

Words batch(int size) {
  return set("trainer.batching.global_batch_size", std::to_string(size));
}
Words steps(int count) {
  return set("trainer.schedule.total_steps", std::to_string(count));
}

class OtherBatch : public testing::Test {
 protected:
  OtherBatch() {
    std::string lines;
    for (int k = 0; k < samples; ++k) {
      nlohmann::json ids = nlohmann::json::array();
      for (int i = 0; i < 6; ++i) ids.push_back((7 * k + i * i) % 60 + 1);
      lines += nlohmann::json{{"input_ids", ids}}.dump() + "\n";
    }
    job_.folder().write("d.jsonl", lines);
    job_.folder().write("infer.yaml", std::string(infer_yaml) + small_model_yaml + data_yaml);
    job_.folder().write("train.yaml", train_yaml("5") + small_model_yaml + data_yaml);
  }
  Outcome infer(const std::string& run, const Words& words) {
    return job_.call(Words{"infer.yaml"} + set("inference.run.name", run) + words);
  }
  Outcome train(const std::string& run, const Words& words) {
    return job_.call(Words{"train.yaml"} + set("trainer.run.name", run) + words);
  }
  // How many lines each sample has, and the loss of the last of them.
  std::map<int, std::pair<int, double>> results(const std::string& run) const {
    std::map<int, std::pair<int, double>> found;
    for (const nlohmann::json& line : json_lines_in(job_.run_folder(run) / "results")) {
      auto& [count, loss] = found[line.at("sample").get<int>()];
      ++count;
      loss = line.at("loss").get<double>();
    }
    return found;
  }
  void expect_each_once(const std::string& run) const {
    const auto found = results(run);
    EXPECT_EQ(found.size(), static_cast<std::size_t>(samples)) << run;
    for (const auto& [sample, line] : found) EXPECT_EQ(line.first, 1) << run << ", sample " << sample;
  }
  // The steps had these numbers of samples, one after the other from the first on.
  void expect_steps(const std::string& run, const std::vector<int>& sizes) {
    ASSERT_EQ(infer("each", {}).code, 0);
    const auto each = results("each");
    const auto losses = job_.losses(run);
    ASSERT_EQ(losses.size(), sizes.size()) << run;
    int sample = 0;
    for (std::size_t step = 0; step < sizes.size(); ++step) {
      double sum = 0;
      for (int i = 0; i < sizes[step]; ++i) sum += each.at(sample++ % samples).second;
      EXPECT_NEAR(losses[step], sum / sizes[step], 1e-5 * losses[step]) << run << ", step " << step + 1;
    }
  }

  TinyJob job_;
};

TEST_F(OtherBatch, OfAnInferenceGivesEachSampleOneLine) {
  for (const int size : {8, 2, 12}) {
    const std::string run = "with" + std::to_string(size);
    ASSERT_EQ(infer(run, set("inference.schedule.total_steps", "5")).code, 0);
    ASSERT_EQ(results(run).size(), 20U);

    ASSERT_THAT(infer(run, set("inference.batching.global_batch_size", std::to_string(size))),
                says("and took 4 before: step 6 begins with sample 20"));
    expect_each_once(run);
  }
}

// 5 steps of 4, 2 of 6, 2 of 3 replicas with 1 each, then 1; the last starts find less than a batch and nothing.
TEST_F(OtherBatch, MayChangeAtEveryStartAndOnAnyMesh) {
  const auto go = [&](int size, int until, const Words& more = {}) {
    const Outcome outcome =
        infer("often", set("inference.batching.global_batch_size", std::to_string(size)) + more +
                           set("inference.schedule.total_steps", until > 0 ? std::to_string(until) : "null"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  go(4, 5);
  go(6, 7);
  go(3, 9, mesh(1, 3));
  go(1, 10);
  go(32, 0);

  EXPECT_THAT(go(2, 0), HasSubstr("nothing left to infer"));
  expect_each_once("often");
}

// The last step was filled up to 48; what comes to the data is sample 40 and not 48.
TEST_F(OtherBatch, TakesInWhatCameToTheDataBehindAFilledStep) {
  ASSERT_EQ(infer("grown", set("inference.batching.global_batch_size", "12")).code, 0);
  std::ofstream(job_.folder() / "d.jsonl", std::ios::app) << R"({"input_ids": [1, 2, 3, 4, 5, 6]})"
                                                          << "\n"
                                                          << R"({"input_ids": [6, 5, 4, 3, 2, 1]})"
                                                          << "\n";

  ASSERT_THAT(infer("grown", set("inference.batching.global_batch_size", "4")), ends_well());
  const auto found = results("grown");
  EXPECT_EQ(found.size(), samples + 2U);
  EXPECT_EQ(found.rbegin()->first, samples + 1);
}

TEST_F(OtherBatch, OfTrainingReadsOnToTheEndOfTheDataAndExports) {
  for (const int size : {2, 8}) {
    const std::string run = "with" + std::to_string(size);
    ASSERT_EQ(train(run, steps(5)).code, 0);

    const Outcome rest = train(run, batch(size) + set("export_to", run + "_model"));

    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_TRUE(std::filesystem::exists(job_.folder() / (run + "_model") / "model.safetensors"));
    if (size == 8) {
      EXPECT_THAT(rest.err, HasSubstr("2 steps are left (the last 4 samples make no whole step)"));
    }
    std::vector<int> sizes(5, 4);
    sizes.insert(sizes.end(), static_cast<std::size_t>(20 / size), size);
    expect_steps(run, sizes);
  }
}

TEST_F(OtherBatch, OfTrainingThroughEpochsAndSeveralStarts) {
  const Words epochs = set("data.epochs", "2");
  ASSERT_EQ(train("twice", epochs + steps(5)).code, 0);
  ASSERT_EQ(train("twice", epochs + batch(10) + steps(10)).code, 0);

  ASSERT_THAT(train("twice", epochs + batch(5) + mesh(1, 5)), ends_well());
  expect_steps("twice", {4, 4, 4, 4, 4, 10, 10, 10, 10, 10, 5, 5});
}

// 5 steps of 4 and 10 of 2 are all there is.
TEST_F(OtherBatch, IsRefusedByRunAndCheckWhereTheStepsNeedMoreData) {
  ASSERT_EQ(train("more", steps(5)).code, 0);
  const Words words = Words{"train.yaml"} + set("trainer.run.name", "more") + batch(2) + steps(16);

  for (const Words& command : {Words{"run"}, Words{"check"}}) {
    const Outcome refused = job_.call(command + words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(
        refused.err,
        AllOf(HasSubstr("total_steps = 16, but the data gives 15 steps: 5 steps are done with 20 samples"),
              HasSubstr("Set total_steps to 15")));
  }
  EXPECT_EQ(train("more", batch(2) + steps(15)).code, 0);
}

// 10 steps of 4 or 5 of 8: over the whole run the multiplier falls from 1 to 0, by 0.1 for 4 samples.
TEST_F(OtherBatch, LeavesThePhasesOfTheLearningRateAtTheirSamples) {
  const Words falls =
      set("optimizer.lr", "1.0e-3") +
      set("lr_scheduler",
          "{name: piecewise, scheduler: {initial_multiplier: 1.0, phases: [{mode: percentage, "
          "percentage: 1.0, target_multiplier: 0.0, curve: {type: linear}}]}}");
  ASSERT_EQ(train("falls", falls + set("trainer.checkpointing.period_steps", "2")).code, 0);
  for (const char* name : {"save-4", "save-6", "save-8", "save-10"})
    std::filesystem::remove_all(job_.run_folder("falls") / "checkpoints" / name);

  ASSERT_THAT(train("falls", falls + batch(8)),
              says("stay at their samples: they are counted in steps of 4"));
  const auto rates = job_.values("falls", "lr");
  const std::vector<double> by_hand{1e-3, 9e-4, 8e-4, 6e-4, 4e-4, 2e-4};
  ASSERT_EQ(rates.size(), by_hand.size());
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], by_hand[i], 1e-9) << "step " << i + 1;
}

TEST_F(OtherBatch, LeavesThePhasesOfACountedJobAtTheirSteps) {
  const Words falls = set("optimizer.lr", "1.0e-3") + steps(6) +
                      set("lr_scheduler",
                          "{name: piecewise, scheduler: {initial_multiplier: 1.0, phases: [{mode: rest, "
                          "target_multiplier: 0.0, curve: {type: linear}}]}}");
  ASSERT_EQ(train("counted", falls + set("trainer.checkpointing.period_steps", "2")).code, 0);
  for (const char* name : {"save-4", "save-6"})
    std::filesystem::remove_all(job_.run_folder("counted") / "checkpoints" / name);

  ASSERT_THAT(train("counted", falls + batch(8)), says("stay at their steps"));
  const auto rates = job_.values("counted", "lr");
  ASSERT_EQ(rates.size(), 6U);
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_NEAR(rates[i], 1e-3 * (1 - static_cast<double>(i) / 6), 1e-9);
}

}  // namespace
}  // namespace d9d::test
