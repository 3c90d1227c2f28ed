// Jobs that make texts: the same on every mesh, each sample once, also when the job goes on after a stop.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/inference_job.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;

constexpr int prompts = 29;  // no multiple of a batch
constexpr int words_of_prompt = 12;
constexpr int padding = 500;

class Generation : public testing::Test {
 protected:
  void SetUp() override {
    job_.folder().write(
        "generate.yaml",
        inference_yaml(
            "{source: tokens, tokens: prompts.npy}",
            "task: {name: generation, max_new_tokens: 9, temperature: 1.2, top_p: 0.9, padding_id: 500}\n"));
    // Prompts of 7 to 12 tokens.
    job_.folder().write(
        "prompts.npy", npy_file(prompts, words_of_prompt, [](int row, int column) {
          const bool ends = column >= 7 + row % 6;
          return static_cast<std::int32_t>(ends ? padding : (row * 97 + column * column * 13) % 499);
        }));
    job_.rewrite("{period_steps: last_step}", "{period_steps: disable}");
    ASSERT_THAT(
        job_.run(named("source") + set("trainer.schedule.total_steps", "6") + set("export_to", "model")),
        ends_well());
  }
  Outcome generate(const std::string& run, const Words& words = {}) {
    return job_.call(Words{"generate.yaml"} + set("inference.run.name", run) +
                     set("inference.checkpointing.period_steps", "1") + words);
  }
  std::map<int, nlohmann::json> texts_of(const std::string& run) {
    return json_lines_by_sample(job_.run_folder(run) / "results");
  }

  TinyJob job_;
};

TEST_F(Generation, GivesTheSameTextsOnEveryMesh) {
  ASSERT_EQ(generate("alone").code, 0);
  const auto expected = texts_of("alone");
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(prompts));
  for (const auto& [sample, line] : expected) {
    EXPECT_EQ(line.at("prompt_tokens"), std::min(7 + sample % 6, words_of_prompt));
    EXPECT_EQ(line.at("tokens").size(), 9U);
  }
  const std::map<std::string, Words> meshes{
      {"replicas", mesh(1, 4)},
      {"sharded", set("mesh.data_parallel_shard", "2")},
      {"matrices", matrices_on(2)},
      {"experts", mesh(1, 2) + experts_on(2)},
      {"stages", mesh(2, 2)},
      {"stages of matrices", mesh(2, 1) + matrices_on(2)},
      {"stages of one microbatch", mesh(2, 1) + set("inference.batching.microbatch_size", "8")},
      {"sharded stages", mesh(2, 1) + set("mesh.data_parallel_shard", "2") + experts_on(2)},
      {"all", set("mesh.data_parallel_shard", "2") + matrices_on(2) + experts_on(2)},
  };
  for (const auto& [name, words] : meshes) {
    ASSERT_THAT(generate(name, words), ends_well()) << name;
    EXPECT_EQ(texts_of(name), expected) << name;
  }
}

// Caches on devices whose work is late and out of order.
TEST_F(Generation, GivesTheSameTextsOnDelayedDevices) {
  ASSERT_EQ(generate("alone").code, 0);
  const auto expected = texts_of("alone");
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(prompts));
  const Words late = set("node.device", "delayed");
  const std::map<std::string, Words> jobs{
      {"late", {}},
      {"late stages", mesh(2, 2)},
      {"late stages of matrices", mesh(2, 1) + matrices_on(2)},
      {"late experts", set("mesh.data_parallel_shard", "2") + experts_on(2)},
      {"late stages with nccl", mesh(2, 1) + matrices_on(2) + set("node.collectives", "nccl")},
      {"late stages that share", mesh(2, 1) + set("node.devices", "1")},
  };
  for (const auto& [name, words] : jobs) {
    ASSERT_THAT(generate(name, words + late), ends_well()) << name;
    EXPECT_EQ(texts_of(name), expected) << name;
  }
}

TEST_F(Generation, GivesTheSameTextsFromTwoProcesses) {
  ASSERT_EQ(generate("alone").code, 0);
  const auto expected = texts_of("alone");
  const Words late = set("node.device", "delayed");
  const std::map<std::string, Words> jobs{
      {"stages", mesh(2, 1)}, {"late stages", mesh(2, 1) + late}, {"late replicas", mesh(1, 2) + late}};
  for (const auto& [name, words] : jobs) {
    const Words half =
        Words{"generate.yaml"} + set("inference.run.name", name) + words + Words{"--ranks", "1"};
    const auto first = job_.spawn(half + Words{"--listen", "127.0.0.1:0"});
    const auto second = job_.spawn(half + Words{"--join", "127.0.0.1:" + port_of(*first)});
    ASSERT_EQ(first->wait(), 0) << name << ": " << first->err();
    ASSERT_EQ(second->wait(), 0) << name << ": " << second->err();
    EXPECT_EQ(texts_of(name), expected) << name;
  }
}

TEST_F(Generation, GoesOnWithOtherRanksAndForgetsAndRepeatsNothing) {
  ASSERT_EQ(generate("through").code, 0);
  ASSERT_EQ(generate("halves", mesh(1, 2)).code, 0);
  EXPECT_THAT(job_.checkpoints("halves"), ElementsAre(1, 2, 3, 4));
  for (const char* name : {"save-3", "save-4"})
    std::filesystem::remove_all(job_.run_folder("halves") / "checkpoints" / name);

  ASSERT_THAT(generate("halves", mesh(2, 1) + matrices_on(2)),
              says("resuming from runs/halves/checkpoints/save-2"));
  EXPECT_EQ(texts_of("halves"), texts_of("through"));
}

TEST_F(Generation, EndsTextsBehindStopTokens) {
  const Words greedy = set("task.temperature", "0");
  ASSERT_EQ(generate("whole", greedy).code, 0);
  const auto whole = texts_of("whole");
  const int stop = whole.at(0).at("tokens")[2].get<int>();

  ASSERT_EQ(generate("cut", greedy + set("task.stop_tokens", "[" + std::to_string(stop) + "]")).code, 0);

  ASSERT_EQ(
      generate("stages", mesh(2, 1) + greedy + set("task.stop_tokens", "[" + std::to_string(stop) + "]"))
          .code,
      0);
  EXPECT_EQ(texts_of("stages"), texts_of("cut"));
  for (const auto& [sample, line] : texts_of("cut")) {
    auto expected = whole.at(sample).at("tokens").get<std::vector<int>>();
    const auto end = std::find(expected.begin(), expected.end(), stop);
    if (end != expected.end()) expected.erase(end + 1, expected.end());
    EXPECT_EQ(line.at("tokens").get<std::vector<int>>(), expected) << sample;
  }
}

TEST_F(Generation, RefusesWhatCannotBe) {
  const auto refused = [&](const Words& words, const char* text) {
    EXPECT_THAT(generate("refused", words), is_refused(text));
  };
  refused(set("mesh.context_parallel_shard", "2"), "cannot share sequences between ranks");
  refused(set("task.max_new_tokens", "0"), "task.max_new_tokens");
  EXPECT_THAT(job_.run(set("task", "{name: generation, max_new_tokens: 4}")),
              is_refused("generation makes texts, and nothing that trains"));
}

}  // namespace
}  // namespace d9d::test
