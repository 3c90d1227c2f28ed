// Prompts of files: a job and `d9d-node generate` read them alike and go on with them alike.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

constexpr const char* prompts_yaml = R"(inference:
  run: {name: texts}
  batching: {global_batch_size: 4, microbatch_size: 2}
  model_stage_factory: {source_checkpoint: model}
model_provider: {name: qwen3_moe, from: model}
data: {source: prompts, files: [prompts.jsonl], tokenizer: tokenizer.json, sequence_length: 24}
task: {name: generation, max_new_tokens: 6, temperature: 0}
node: {threads_per_rank: 1, heartbeat_ms: 10000}
)";

std::vector<nlohmann::json> sorted_lines(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.at("sample") < b.at("sample"); });
  return lines;
}

class Prompts : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(std::filesystem::path(D9D_SOURCE_DIR) / "examples/quickstart/tokenizer.json",
                               job_.folder().path() / "tokenizer.json");
    job_.folder().write("prompts.yaml", prompts_yaml);
    job_.folder().write("prompts.jsonl",
                        "{\"prompt\": \"And the king\"}\n\n{\"prompt\": \"I\"}\n"
                        "{\"prompt\": \"In the beginning God created the heaven\"}\n{\"prompt\": \"Now\"}\n"
                        "{\"prompt\": \"The word of the LORD came\"}\n");
    ASSERT_THAT(job_.run(set("trainer.schedule.total_steps", "6") + set("export_to", "model") +
                         set("model_provider.model.vocab_size", "8192") +
                         set("trainer.checkpointing.period_steps", "disable")),
                ends_well());
  }

  TinyJob job_;
};

TEST_F(Prompts, OfDifferentLengthsGoOnAsWithTheCommand) {
  ASSERT_THAT(job_.call({"generate", "model", "--tokenizer", "tokenizer.json", "--prompts", "prompts.jsonl",
                         "--tokens", "6", "--temperature", "0", "--out", "out.jsonl"}),
              ends_well());
  ASSERT_THAT(job_.call({"prompts.yaml"}), ends_well());
  const Outcome stages = job_.call(Words{"prompts.yaml"} + set("inference.run.name", "stages") + mesh(2, 1));
  ASSERT_EQ(stages.code, 0) << stages.err;

  const auto expected = sorted_lines(job_.folder().path() / "out.jsonl");

  ASSERT_EQ(expected.size(), 5U);
  const auto alone = sorted_lines(job_.run_folder("texts") / "results" / "00000.jsonl");
  const auto over_stages = sorted_lines(job_.run_folder("stages") / "results" / "00001.jsonl");
  ASSERT_EQ(alone.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(alone[i].at("tokens"), expected[i].at("tokens")) << i;
  EXPECT_NE(alone[0].at("prompt_tokens"), alone[2].at("prompt_tokens"));
  EXPECT_EQ(over_stages, alone);
}

TEST_F(Prompts, RefusesOneThatIsTooLongOrMissing) {
  const auto refused = [&](const Words& words, const char* text) {
    EXPECT_THAT(job_.call(Words{"prompts.yaml"} + words), is_refused(text));
  };
  refused(set("data.sequence_length", "3"), "prompts.jsonl:4: the prompt has ");
  refused(set("data.text_field", "question"),
          "prompts.jsonl:1: expected an object with the key \"question\"");
}

}  // namespace
}  // namespace d9d::test
