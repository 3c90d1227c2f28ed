// The actors of examples/own_project in jobs with a built-in model: a guard that has the job go back when the loss jumps,
// and a sampler that has the model that trains write texts.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class OwnActors : public testing::Test {
 protected:
  static Words job_of(const std::string& run, const std::string& actors, const Words& more = {}) {
    return named(run) + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]") +
           set("actors", actors) +
           set("data", "{source: repeats, length: 32, vocab_size: 16, phrase: 4, spoiled: [272, 280]}") +
           set("model_provider.model.vocab_size", "64") + set("optimizer.lr", "0.01") +
           set("trainer.checkpointing.period_steps", "5") + set("trainer.schedule.total_steps", "40") + more;
  }
  Outcome train(const std::string& run, const std::string& actors, const Words& more = {}) {
    return job_.run(job_of(run, actors, more));
  }
  // Where the log says that the job went back: from this step to that one.
  static std::pair<int, int> went_back(const std::string& log) {
    std::smatch found;
    const std::regex pattern("going back from step ([0-9]+) to the state of step ([0-9]+)");
    if (!std::regex_search(log, found, pattern)) return {0, 0};
    return {std::stoi(found[1]), std::stoi(found[2])};
  }
  std::string tensors_of(const std::string& run, int step) const {
    std::string all;
    const auto folder = job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(step));
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& path : files) all += text_of_file(path);
    return all;
  }
  std::vector<nlohmann::json> lines_with(const std::string& run, const std::string& key) const {
    auto lines = json_lines(job_.run_folder(run) / "metrics.jsonl");
    std::erase_if(lines, [&](const nlohmann::json& line) { return !line.contains(key); });
    return lines;
  }

  TinyJob job_;
  int runs_ = 0;
};

constexpr const char* guard = "[{name: spike_guard, limit: 1.3}]";

TEST_F(OwnActors, AGuardHasTheJobGoBackToTheLastGoodCheckpoint) {
  for (const Words& on : {mesh(1, 1), mesh(2, 2), set("mesh.data_parallel_shard", "2") + matrices_on(2)}) {
    const std::string run = "guarded" + std::to_string(runs_++);
    const Outcome outcome = train(run, guard, on);
    ASSERT_EQ(outcome.code, 0) << outcome.err;

    const auto [from, to] = went_back(outcome.err);
    ASSERT_TRUE(to == 30 || to == 25) << outcome.err;  // that of step 30 may still be on its way to the disk
    EXPECT_GE(from, 35);
    EXPECT_EQ(job_.losses(run).size(), 40U);
    EXPECT_EQ(tensors_of(run, from), tensors_of(run, to)) << "the state of then, saved again";
    EXPECT_EQ(lines_with(run, "roll_backs").at(0).at("roll_backs"), 1);
    const auto through = job_.exact_curve(run);
    for (const int step : job_.checkpoints(run)) {
      if (step > from)
        std::filesystem::remove_all(job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(step)));
    }
    ASSERT_THAT(train(run, "[]", on), says("save-" + std::to_string(from)));
    EXPECT_EQ(job_.exact_curve(run), through);
  }
}

TEST_F(OwnActors, AJobGoesBackOnlySoOften) {
  EXPECT_THAT(train("none", guard, set("trainer.checkpointing.roll_backs_max", "0")),
              fails("roll_backs_max"));

  EXPECT_THAT(train("late", guard, set("trainer.checkpointing.period_steps", "38")),
              fails("no checkpoint of then is there"));
}

TEST_F(OwnActors, ASamplerShowsTextsAndChangesNothing) {
  const std::string sampler =
      "[{name: sampler, every: 10, prompts: ['5 9 2', '1 2 3 4 1 2 3 4 1'], tokens: 6}]";
  for (const Words& on : {mesh(1, 1), mesh(2, 2), mesh(2, 1) + set("mesh.data_parallel_shard", "2"),
                          mesh(1, 2) + matrices_on(2), mesh(2, 1) + set("node.device", "delayed")}) {
    const std::string run = "sampled" + std::to_string(runs_++);
    const Outcome plain = train("plain" + run, "[]", on);
    ASSERT_EQ(plain.code, 0) << plain.err;
    ASSERT_THAT(train(run, sampler, on), ends_well());

    EXPECT_EQ(job_.exact_curve(run), job_.exact_curve("plain" + run));
    const auto lines = lines_with(run, "samples/1");
    ASSERT_GE(lines.size(), 3U) << "of steps 10, 20 and 30";
    EXPECT_TRUE(lines[0].contains("samples/0"));
    const std::string text = lines.back().at("samples/1");
    EXPECT_EQ(text.find("1 2 3 4 1 2 3 4 1 | "), 0U);
    EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 8 + 2 + 5) << text;
  }
}

// Keys and values of both prompts and their new tokens, which check knows before the actor asks.
TEST_F(OwnActors, TextsThatASamplerAsksForAreCountedByCheck) {
  const std::string sampler =
      "{name: sampler, every: 10, prompts: ['5 9 2', '1 2 3 4 1 2 3 4 1'], tokens: 6}";
  const auto check = [&](const std::string& actors, const Words& more = {}) {
    const Outcome outcome = job_.call(Words{"check", "job.yaml"} + job_of("checked", actors) + more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto bytes_of_texts = [&](const std::string& actors) {
    return nlohmann::json::parse(check(actors, {"--json"}))
        .at("memory")
        .at(0)
        .at("text_bytes")
        .get<std::int64_t>();
  };
  const std::string longer =
      "{name: sampler, every: 10, prompts: ['5 9 2', '1 2 3 4 1 2 3 4 1'], tokens: 106}";

  const std::string both = check("[" + sampler + ", {name: spike_guard, limit: 1.3}]");

  EXPECT_THAT(both,
              HasSubstr("2 texts of the actor sampler after a step, for prompts of 9 tokens and 6 new tokens "
                        "each at most\n"));
  EXPECT_THAT(both,
              HasSubstr("not counted: texts for which actors set their prompts while the job runs, if any "
                        "(spike_guard)\n"));
  EXPECT_THAT(check("[" + sampler + "]"), testing::Not(HasSubstr("not counted")));
  EXPECT_EQ(bytes_of_texts(guard), 0);
  const std::int64_t more = bytes_of_texts("[" + longer + "]") - bytes_of_texts("[" + sampler + "]");
  EXPECT_GT(more, 0);
  EXPECT_EQ(more % (2 * 100), 0) << "of two texts with a hundred tokens more each";
}

TEST_F(OwnActors, ATrackerOfAPluginGetsTheNumbers) {
  const Words table = set("trainer.logging.tracker", "[{provider: table, file: numbers.csv}]");
  ASSERT_THAT(train("tracked", "[]", table + set("trainer.schedule.total_steps", "6")), ends_well());

  const std::string text = text_of_file(job_.run_folder("tracked") / "numbers.csv");
  EXPECT_EQ(text.find("1,"), 0U);
  EXPECT_THAT(text, HasSubstr("\n6,loss,"));
  EXPECT_THAT(train("unknown", "[]", set("trainer.logging.tracker", "{provider: tabel}")),
              is_refused("no tracker is called \"tabel\"; there are: aim, log, mlflow, null, table"));
  EXPECT_THAT(train("wrong", "[]", set("trainer.logging.tracker", "{provider: table, files: a}")),
              is_refused("did you mean \"file\"?"));
}

}  // namespace
}  // namespace d9d::test
