// Every kind of metric of a task, on every kind of mesh, against a computation of the test over the same tokens.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/runtime/metric/sink/one_pixel.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int num_samples = 40;  // five steps of eight
constexpr int sample_length = 32;
constexpr int num_classes = 4;
constexpr const char* plugin_file = D9D_BINARY_DIR "/tests/e2e/libd9d_measured_plugin.so";

std::int32_t id(int row, int column) {
  return (row * 193 + column * column * 7 + column * 31) % 511;
}
// Agrees with the class that the task predicts, id % 4, for some tokens only.
std::int32_t label(int row, int column) {
  return column % 3 == 0 ? (row + column) % num_classes : id(row, column) % num_classes;
}

struct Token {
  int id;
  int label;
};

std::vector<Token> tokens_of(int first_row, int end_row) {
  std::vector<Token> tokens;
  for (int row = first_row; row < end_row; ++row) {
    for (int column = 0; column < sample_length; ++column)
      tokens.push_back({id(row, column), label(row, column)});
  }
  return tokens;
}

// The share of pairs of a positive and a negative token in which the positive has the larger id; equal ids count half.
double auroc_of(const std::vector<Token>& tokens) {
  double won = 0, pairs = 0;
  for (const Token& positive : tokens) {
    if (positive.label < 2) continue;
    for (const Token& negative : tokens) {
      if (negative.label >= 2) continue;
      won += positive.id > negative.id ? 1 : positive.id == negative.id ? 0.5 : 0;
      ++pairs;
    }
  }
  return won / pairs;
}

std::map<std::string, double> expected_of(const std::vector<Token>& tokens) {
  std::map<std::string, double> expected{{"smallest", 511}, {"auroc", auroc_of(tokens)}};
  double squares = 0, right = 0;
  std::array<double, num_classes> hits{}, predicted{}, wanted{};
  for (const auto& [id, label] : tokens) {
    expected["sum"] += id;
    squares += static_cast<double>(id) * id;
    expected["smallest"] = std::min<double>(expected["smallest"], id);
    expected["largest"] = std::max<double>(expected["largest"], id);
    right += id % num_classes == label;
    ++predicted[id % num_classes];
    ++wanted[label];
    if (id % num_classes == label) ++hits[label];
  }
  const auto count = static_cast<double>(tokens.size());
  // Micro: each wrong token is wrong in the counts of two of the four classes.
  expected["accuracy"] = (num_classes * count - 2 * (count - right)) / (num_classes * count);
  for (int c = 0; c < num_classes; ++c) {
    expected["precision"] += hits[c] / predicted[c] / num_classes;
    expected["recall"] += hits[c] / wanted[c] / num_classes;
    expected["f1/" + std::to_string(c)] = 2 * hits[c] / (predicted[c] + wanted[c]);
  }
  const double mean = expected["sum"] / count;
  expected["mean"] = expected["spread/mean"] = mean;
  expected["spread/deviation"] = std::sqrt(squares / count - mean * mean);
  return expected;
}

class Metrics : public testing::Test {
 protected:
  void SetUp() override {
    job_.folder().write("ids.npy", npy_file(num_samples, sample_length, id));
    job_.folder().write("classes.npy", npy_file(num_samples, sample_length, label));
    job_.rewrite("{source: synthetic, sequence_length: 32, vocab_size: 512}",
                 "{source: tokens, tokens: ids.npy, labels: classes.npy}");
    job_.rewrite("schedule: {total_steps: 20}", "schedule: {total_steps: 5}");
    job_.rewrite("logging: {period_steps: 1", "logging: {period_steps: 5");
  }
  Words measured(const std::string& leave_out = "") {
    return set("plugins", std::string("[") + plugin_file + "]") +
           set("task", "{name: measured, leave_out: \"" + leave_out + "\"}");
  }
  // Updated in every callback of task and hook.
  Words anywhere() {
    return set("plugins", std::string("[") + plugin_file + "]") +
           set("task", "{name: measured, anywhere: true}") + set("gradient_hooks", "[{name: measured}]");
  }
  // `steps`: of all ranks together; `ended`: those of them whose end came before the last report.
  std::map<std::string, double> expected_anywhere(double steps, double ended) {
    auto expected = expected_of(tokens_of(0, num_samples));
    for (const char* name : {"built", "carried", "lost"}) expected[name] = expected["sum"];
    expected["begun"] = expected["hooked"] = steps;
    expected["ended"] = ended;
    return expected;
  }
  std::map<std::string, double> reported(const std::string& run, const std::string& prefix = "metrics/") {
    std::map<std::string, double> values;
    for (const nlohmann::json& numbers : json_lines(job_.run_folder(run) / "metrics.jsonl")) {
      for (const auto& [key, value] : numbers.items()) {
        if (key.starts_with(prefix))
          values[key.substr(prefix.size())] = value.is_number() ? value.get<double>() : NAN;
      }
    }
    return values;
  }
  void expect_equal(const std::map<std::string, double>& values, std::map<std::string, double> expected,
                    const std::string& name) {
    ASSERT_EQ(values.size(), expected.size()) << name;
    for (const auto& [metric, value] : values)
      EXPECT_NEAR(value, expected[metric], 1e-12 * std::abs(value)) << name << " " << metric;
  }
  void expect_right(const std::string& name, const Words& words) {
    ASSERT_THAT(job_.run(named(name) + measured() + words), ends_well()) << name;
    expect_equal(reported(name), expected_of(tokens_of(0, num_samples)), name);
  }
  // A run of five steps that is set back to the checkpoint after the second.
  void run_and_set_back(const Words& words) {
    job_.rewrite("{period_steps: last_step}", "{period_steps: 2}");
    ASSERT_THAT(job_.run(words), ends_well());
    for (const char* later : {"save-4", "save-5"})
      std::filesystem::remove_all(job_.run_folder("tiny") / "checkpoints" / later);
    ASSERT_THAT(job_.checkpoints("tiny"), testing::ElementsAre(2));
  }

  TinyJob job_;
};

TEST_F(Metrics, OfOneRankAreThoseOfItsTokens) {
  expect_right("alone", {});
}

TEST_F(Metrics, OfStagesAndReplicasCountEachTokenOnce) {
  expect_right("stages", mesh(2, 1) + set("trainer.pipelining.schedule", "{schedule: 1f1b}"));
  expect_right("both", mesh(2, 2) + set("trainer.pipelining.schedule", "{schedule: gpipe}"));
  expect_right("sharded", set("mesh.data_parallel_shard", "2") + experts_on(2));
}

TEST_F(Metrics, OfSharedMatricesAndSharedSequencesCountEachTokenOnce) {
  expect_right("matrices", matrices_on(2));
  expect_right("sequences", set("mesh.context_parallel_shard", "2"));
  expect_right("all", matrices_on(2) + mesh(1, 2) + set("mesh.context_parallel_shard", "2"));
}

TEST_F(Metrics, OfTwoProcessesAreReducedOverBoth) {
  const auto [first, second] = job_.start_two(4, measured() + mesh(2, 2));

  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();
  expect_equal(reported("tiny"), expected_of(tokens_of(0, num_samples)), "two processes");
}

TEST_F(Metrics, GoOnFromACheckpointOnAnyMesh) {
  run_and_set_back(measured() + mesh(2, 2));

  ASSERT_THAT(job_.run(measured() + mesh(1, 2)), says("save-2"));
  expect_equal(reported("tiny"), expected_of(tokens_of(0, num_samples)), "resumed");
}

// In build_forward_inputs, which works ahead, in the loss, between phases, in events and in a gradient hook.
TEST_F(Metrics, UpdatedInAnyCallbackCountOnceOnEveryMesh) {
  const Words gpipe = set("trainer.pipelining.schedule", "{schedule: gpipe}");
  const std::map<std::string, std::pair<int, Words>> meshes{
      {"alone", {1, {}}},
      {"both", {4, mesh(2, 2) + gpipe}},
      {"sharded", {2, set("mesh.data_parallel_shard", "2") + experts_on(2)}},
      {"matrices", {2, matrices_on(2)}},
      {"sequences", {2, set("mesh.context_parallel_shard", "2")}}};
  for (const auto& [name, on] : meshes) {
    const auto& [ranks, words] = on;
    ASSERT_THAT(
        job_.run(named(name) + anywhere() + words +
                 set("evaluation",
                     "{period_steps: 5, data: {source: tokens, tokens: ids.npy, labels: classes.npy}}")),
        ends_well())
        << name;
    auto values = reported(name);
    EXPECT_EQ(values.erase("loss_of/learn"), 1U);
    expect_equal(values, expected_anywhere(5 * ranks, 4 * ranks), name);
    auto evaluated = expected_anywhere(0, 0);
    evaluated.erase("hooked");
    evaluated["carried"] = 0;
    expect_equal(reported(name, "evaluation/metrics/"), evaluated, name + ", evaluated");
  }
}

TEST_F(Metrics, UpdatedInAnyCallbackGoOnFromACheckpointOnAnyMesh) {
  run_and_set_back(anywhere() + mesh(2, 2) + set("trainer.pipelining.schedule", "{schedule: gpipe}"));

  ASSERT_THAT(job_.run(anywhere() + mesh(1, 2)), says("save-2"));
  auto values = reported("tiny");
  EXPECT_EQ(values.erase("loss_of/learn"), 1U);
  expect_equal(values, expected_anywhere(2 * 4 + 3 * 2, 2 * 4 + 2 * 2), "resumed");
}

TEST_F(Metrics, OneThatTheTaskLostIsDroppedWithOneLine) {
  run_and_set_back(measured() + mesh(1, 2));

  const Outcome without = job_.run(measured("auroc") + mesh(1, 2));

  ASSERT_EQ(without.code, 0) << without.err;
  const std::string said = "what they counted is dropped: auroc";
  EXPECT_THAT(without.err, HasSubstr(said));
  EXPECT_EQ(without.err.find(said), without.err.rfind(said)) << "said once";
  auto expected = expected_of(tokens_of(0, num_samples));
  expected.erase("auroc");
  expect_equal(reported("tiny"), expected, "without auroc");
}

TEST_F(Metrics, OneThatTheTaskGainedStartsEmpty) {
  run_and_set_back(measured("auroc") + mesh(1, 2));

  const Outcome with = job_.run(measured() + mesh(1, 2));

  ASSERT_THAT(with, says(Not(HasSubstr("dropped"))));
  auto expected = expected_of(tokens_of(0, num_samples));
  expected["auroc"] = auroc_of(tokens_of(2 * 8, num_samples));
  expect_equal(reported("tiny"), expected, "with auroc");
}

// Training needs no metric.
TEST_F(Metrics, OneThatIsUpdatedButNotDeclaredIsNamedAndTrainingGoesOn) {
  EXPECT_THAT(job_.run(measured("everything")),
              says(AllOf(HasSubstr("there is no metric \"undeclared\""),
                         HasSubstr("declares: accuracy, auroc, f1"), Not(HasSubstr("bug")))));
}

// What a task shows beside its metrics is in the line of its step, in TensorBoard and beside them as a file.
TEST_F(Metrics, TextsAndPicturesOfATaskAreInTheTrackers) {
  const Words shown = measured() + set("task.shows", "true") +
                      set("trainer.logging.tracker", "[{provider: tensorboard}, {provider: log}]");
  for (const Words& on : {mesh(1, 1), mesh(2, 2)}) {
    const std::string run = "shown" + std::to_string(on.size()) + on.back();
    ASSERT_EQ(job_.run(named("shown") + shown + on).code, 0);
    int step = 0;
    for (const nlohmann::json& values : json_lines(job_.run_folder("shown") / "metrics.jsonl")) {
      if (!values.contains("shown/text")) continue;
      ++step;
      EXPECT_EQ(values["step"], step);
      EXPECT_EQ(values["shown/text"], "step " + std::to_string(step) + " ends with " +
                                          std::to_string(values["shown/number"].get<int>()));
      EXPECT_EQ(values["shown/number"], static_cast<int>(values["shown/number"].get<double>()));
      EXPECT_EQ(values.contains("shown/end"), step == 1)
          << "told when the job ends, in the line that it names";
      const auto picture = job_.run_folder("shown") / values["shown/picture"]["picture"].get<std::string>();
      EXPECT_EQ(std::filesystem::file_size(picture), png_of_one_pixel().size());
    }
    EXPECT_EQ(step, 5) << run;
    std::string events;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(job_.run_folder("shown"))) {
      if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
      events += text_of_file(entry.path());
    }
    EXPECT_THAT(events, AllOf(HasSubstr("step 5 ends with "), HasSubstr("shown/picture"),
                              HasSubstr(png_of_one_pixel())));
    std::filesystem::remove_all(job_.run_folder("shown"));
  }
}

}  // namespace
}  // namespace d9d::test
