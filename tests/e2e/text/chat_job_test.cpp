// A job on conversations through the command line: checked, trained, exported, asked. What counts in its loss is what
// transformers' apply_chat_template says of the same rows (tests/golden/chat/expect.json).
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/needs_jinja.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* other_template = "{{ 'not this one' }}";

ordered_json golden_case() {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/chat/expect.json");
  return ordered_json::parse(file).at(0);
}

class ChatJob : public testing::Test {
 protected:
  ChatJob() {
    std::string lines;
    for (const auto& row : golden_["rows"]) lines += row["row"].dump() + "\n";
    job_.folder().write("rows.jsonl", lines);
    job_.folder().write("own.jinja", template_text());
  }
  std::string template_text() const { return golden_["text"].get<std::string>(); }
  // A folder with the tokenizer of the golden case and this template.
  void write_tokenizer(const std::string& text) {
    fs::create_directories(job_.folder() / "tokenizer");
    fs::copy_file(
        D9D_SOURCE_DIR "/tests/golden/tokenizer/" + golden_["tokenizer"].get<std::string>() + ".json",
        job_.folder() / "tokenizer/tokenizer.json");
    ordered_json settings = golden_["special"];
    settings["chat_template"] = text;
    job_.folder().write("tokenizer/tokenizer_config.json", settings.dump());
  }
  // A step for each row.
  static Words words(const std::string& more = "") {
    return set("model_provider.model.vocab_size", "783") +
           set("model_provider.model.max_position_embeddings", "512") +
           set("trainer.schedule.total_steps", "8") +
           set("trainer.batching", "{global_batch_size: 1, microbatch_size: 1}") +
           set("data",
               "{source: chat, files: [rows.jsonl], tokenizer: tokenizer, samples: document, "
               "sequence_length: 320" +
                   more + "}") +
           set("export_to", "export");
  }
  void expect_counts_of_apply_chat_template() const {
    const auto counts = job_.values("tiny", "metrics/num_tokens");
    ASSERT_EQ(counts.size(), golden_["rows"].size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      int expected = 0;
      for (const int counted : golden_["rows"][i]["counted"].get<std::vector<int>>()) expected += counted;
      EXPECT_EQ(counts[i], expected) << "row " << i;
    }
  }
  // What the model of the export was asked, as text.
  std::string asked(const Words& more = {}) {
    const Outcome made = job_.call(Words{"generate", "export", "--chat", "--prompt", "What is 7 + 5?",
                                         "--tokens", "3", "--temperature", "0", "--out", "out.jsonl"} +
                                   more);
    EXPECT_EQ(made.code, 0) << made.err;
    if (made.code != 0) return "";
    const auto line = ordered_json::parse(text_of_file(job_.folder() / "out.jsonl"));
    EXPECT_FALSE(line.at("tokens").empty());
    return line.at("prompt").get<std::string>();
  }

  const ordered_json golden_ = golden_case();
  TinyJob job_;
};

TEST_F(ChatJob, CountsWhatApplyChatTemplateSaysAndIsAskedAsItWrites) {
  D9D_NEEDS_JINJA();
  write_tokenizer(template_text());

  ASSERT_THAT(job_.call(Words{"check", "job.yaml"} + words()), prints("8 samples"));
  ASSERT_THAT(job_.run(words()), ends_well());

  expect_counts_of_apply_chat_template();
  const auto prompt = golden_["rows"][0]["prompt"].get<std::string>();
  EXPECT_EQ(asked(), prompt);
  // As the template of the case has it.
  EXPECT_EQ(asked({"--template-argument", "think=false"}), prompt + "<think>\n\n</think>\n\n");
  EXPECT_EQ(asked({"--template-argument", "think=true"}), prompt);
  EXPECT_THAT(job_.call({"generate", "export", "--chat", "--prompt", "a", "--template-argument", "think"}),
              is_refused("--template-argument think: expected NAME=VALUE"));
}

TEST_F(ChatJob, ExportsTheTemplateThatItUsed) {
  D9D_NEEDS_JINJA();
  write_tokenizer(other_template);

  ASSERT_THAT(job_.run(words(", chat_template: own.jinja")), ends_well());

  expect_counts_of_apply_chat_template();
  EXPECT_EQ(text_of_file(job_.folder() / "export/chat_template.jinja"), template_text());
  EXPECT_FALSE(ordered_json::parse(text_of_file(job_.folder() / "export/tokenizer_config.json"))
                   .contains("chat_template"));
  EXPECT_EQ(asked(), golden_["rows"][0]["prompt"].get<std::string>());
}

}  // namespace
}  // namespace d9d::test
