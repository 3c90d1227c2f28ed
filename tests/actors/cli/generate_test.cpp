#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "actors/cli/running_commands.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_lines.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// The model has 61 words: those of the tokenizer that are signs and capital letters.
class CliGenerate : public testing::Test {
 protected:
  test::Outcome call(const std::vector<std::string>& more, const std::string& tokens = "6") {
    std::vector<std::string> words{D9D_SOURCE_DIR "/tests/golden/qwen3/dense_tied", "--tokenizer",
                                   D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json", "--tokens", tokens};
    words.insert(words.end(), more.begin(), more.end());
    return test::call(generate_command(), words);
  }
  std::vector<nlohmann::json> lines_of(const std::string& path) { return test::json_lines(path); }
  std::string written(const std::string& name, const std::string& text) {
    std::ofstream(scratch_ / name) << text;
    return scratch_ / name;
  }

  const test::Scratch scratch_;
};

TEST_F(CliGenerate, WritesALineForEachPromptOfAllThatWereGiven) {
  const std::string file = written("prompts.txt", "A+B\n\n(C)\n"), out = scratch_ / "out.jsonl";

  ASSERT_THAT(call({"--prompt", "X-Y", "--prompts", file, "--temperature", "0", "--out", out}),
              test::prints("for 3 prompts in "));
  const auto lines = lines_of(out);
  ASSERT_EQ(lines.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i]["sample"], i);
    EXPECT_EQ(lines[i]["prompt"], (std::vector{"X-Y", "A+B", "(C)"}[i]));
    EXPECT_GE(lines[i]["tokens"].size(), 1U);
  }
  const auto alone = call({"--prompt", "A+B", "--temperature", "0"});
  EXPECT_EQ(alone.out, "A+B" + lines[1]["text"].get<std::string>() + "\n");
}

TEST_F(CliGenerate, ReadsPromptsOfJsonLinesAndPrintsSeveralTextsApart) {
  const std::string file =
      written("prompts.jsonl", "{\"prompt\": \"A+B\"}\n{\"prompt\": \"(C)\", \"id\": 3}\n");

  ASSERT_THAT(call({"--prompts", file, "--top-p", "0.9", "--dtype", "bfloat16", "--batch", "1"}),
              test::prints(AllOf(StartsWith("A+B"), HasSubstr("\n\n(C)"))));
}

TEST_F(CliGenerate, WritesNoResultsOverWhatItReads) {
  const std::string file = written("prompts.txt", "A+B\n");
  std::filesystem::create_symlink(file, scratch_ / "link");

  for (const std::string& out : {file, scratch_ / "link"})
    EXPECT_THAT(call({"--prompts", file, "--out", out}),
                test::is_refused(HasSubstr("which --prompts reads, and would be written over it")));
  std::filesystem::copy(D9D_SOURCE_DIR "/tests/golden/qwen3/dense_tied", scratch_ / "model");
  written("model/generation_config.json", "{}");
  written("model/model.fp16.safetensors", "weights");
  for (const char* read : {"config.json", "generation_config.json", "model.fp16.safetensors"}) {
    EXPECT_THAT(
        test::call(generate_command(),
                   {scratch_ / "model", "--tokenizer", D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json",
                    "--prompt", "A", "--out", scratch_ / ("model/" + std::string(read))}),
        test::is_refused(HasSubstr("which MODEL_DIR reads")));
  }
  EXPECT_EQ(test::text_of_file(file), "A+B\n");
}

TEST_F(CliGenerate, EndsATextBehindAStop) {
  const std::string out = scratch_ / "out.jsonl";
  ASSERT_EQ(call({"--prompt", "A+B", "--temperature", "0", "--out", out}).code, 0);
  const auto tokens = lines_of(out).front()["tokens"].get<std::vector<int>>();
  const std::string text = lines_of(out).front()["text"];

  ASSERT_EQ(call({"--prompt", "A+B", "--temperature", "0", "--out", out, "--stop", text.substr(0, 1)}).code,
            0);

  EXPECT_EQ(lines_of(out).front()["tokens"].get<std::vector<int>>(), std::vector{tokens[0]});
}

TEST_F(CliGenerate, NamesWhatIsWrong) {
  const std::string file = written("prompts.jsonl", "{\"prompt\": \"A\"}\n{\"text\": \"B\"}\n");
  const std::vector<std::pair<std::vector<std::string>, const char*>> table{
      {{}, "there is no prompt: give --prompt TEXT, or --prompts FILE"},
      {{"--prompt", ""}, "prompt 0 is empty"},
      {{"--prompts", file}, "prompts.jsonl:2: expected an object with the key \"prompt\""},
      {{"--prompt", "A", "--dtype", "half"}, "--dtype is half; choose float32 or bfloat16"},
      {{"--prompt", "A", "--top-p", "1.5"}, "top_p is 1.5"},
      {{"--prompt", "A", "--max-new-tokens", "5"}, "unknown option --max-new-tokens; it is --tokens here"},
      {{"--prompt", "A", "--max_new_tokens=5"}, "unknown option --max_new_tokens; it is --tokens here"},
  };
  for (const auto& [words, text] : table) {
    EXPECT_THAT(call(words), test::is_refused(text)) << text;
  }
  EXPECT_THAT(call({"--prompt", "A"}, "5000").err, HasSubstr("ask for fewer of them"));
}

}  // namespace
}  // namespace d9d
