// From a text to a model of one's own, and from that to one that answers, by the commands of the README.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FirstModel : public testing::Test {
 protected:
  FirstModel() {
    std::string text, chat;
    for (int i = 0; i < 60; ++i) {
      const std::string number = std::to_string(i);
      text += "Paragraph " + number + " of a small text.\nIts second line says " + number + " again.\n\n";
      chat += R"({"messages": [{"role": "user", "content": "What is )" + number +
              R"(?"}, {"role": "assistant", "content": "It is )" + number + "\"}]}\n";
    }
    job_.folder().write("text.txt", text);
    job_.folder().write("chat.jsonl", chat);
  }
  Outcome run(const std::string& job, const Words& words) { return job_.call(Words{job} + words); }
  static Words steps(int number) { return set("trainer.schedule.total_steps", std::to_string(number)); }
  bool exists(const std::string& name) const { return std::filesystem::exists(job_.folder().path() / name); }
  TinyJob job_;
};

TEST_F(FirstModel, OfATextIsTrainedEvaluatedExportedAndWrites) {
  const Outcome init = job_.call({"init", "mine", "--text", "text.txt", "--minutes", "0.2"});
  ASSERT_EQ(init.code, 0) << init.err;
  EXPECT_EQ(init.err, "");

  ASSERT_THAT(run("mine/job.yaml", steps(4)), ends_well());
  EXPECT_EQ(job_.losses("mine").size(), 4U);
  EXPECT_FALSE(job_.values("mine", "evaluation/loss").empty());
  EXPECT_TRUE(exists("runs/mine/export/model.safetensors"));
  EXPECT_TRUE(exists("runs/mine/export/tokenizer.json"));
  EXPECT_THAT(job_.call({"generate", "runs/mine/export", "--prompt", "Paragraph", "--tokens", "4"}),
              ends_well());
}

TEST_F(FirstModel, IsFineTunedOnAnotherText) {
  ASSERT_EQ(job_.call({"init", "mine", "--text", "text.txt"}).code, 0);
  ASSERT_EQ(run("mine/job.yaml", steps(2)).code, 0);

  ASSERT_THAT(job_.call({"init", "tuned", "--model", "runs/mine/export", "--text", "text.txt"}),
              prints(AllOf(HasSubstr("kind: lora"), HasSubstr("eos_token: \"<|endoftext|>\""))));
  ASSERT_THAT(run("tuned/job.yaml", steps(2)), ends_well());
  EXPECT_TRUE(exists("runs/tuned/adapter/adapter_model.safetensors"));
  EXPECT_TRUE(exists("runs/tuned/export/model.safetensors"));
}

TEST_F(FirstModel, IsFineTunedOnConversations) {
  ASSERT_EQ(job_.call({"init", "mine", "--text", "text.txt"}).code, 0);
  ASSERT_EQ(run("mine/job.yaml", steps(2)).code, 0);

  ASSERT_THAT(job_.call({"init", "answers", "--model", "runs/mine/export", "--data", "chat.jsonl"}),
              prints(AllOf(HasSubstr("source: chat"), HasSubstr("roles:"))));
  ASSERT_THAT(run("answers/job.yaml", steps(2)), ends_well());
  EXPECT_TRUE(exists("runs/answers/adapter/adapter_model.safetensors"));
}

// No template writes them, so nothing else would teach the model to stop, or begin its texts as prompts begin.
TEST_F(FirstModel, PairsOfTextsHaveTheEndsOfTheTokenizerBesideATemplate) {
  const auto begins = [&](const std::string& name, const std::string& rows) {
    job_.folder().write("rows.jsonl", rows);
    return job_.call({"init", name, "--model", "runs/mine/export", "--data", "rows.jsonl"});
  };
  const std::string pair = R"({"prompt": "What is it?", "completion": " It is 1"})", end = "\n";
  const std::string talk =
      R"({"messages": [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "This."}]})";
  ASSERT_EQ(job_.call({"init", "mine", "--text", "text.txt"}).code, 0);
  ASSERT_EQ(run("mine/job.yaml", steps(1)).code, 0);
  job_.folder().write("runs/mine/export/chat_template.jinja",
                      "{% for m in messages %}{{ m.content }}{% endfor %}");

  EXPECT_THAT(begins("pairs", pair + end + pair + end), prints(HasSubstr("eos_token: \"<|endoftext|>\"")));
  EXPECT_THAT(begins("talk", talk + end + talk + end), prints(testing::Not(HasSubstr("eos_token"))));
  EXPECT_THAT(begins("both", pair + end + talk + end), is_refused("1 of 2 rows are {prompt, completion}"));
}

TEST_F(FirstModel, HasNoEvaluationWhereTheTextIsOneLine) {
  job_.folder().write("line.txt", "One line of a text that is all there is, and that is not much.");

  ASSERT_THAT(job_.call({"init", "line", "--text", "line.txt"}), says("too few parts to hold some out"));
  EXPECT_EQ(run("line/job.yaml", steps(2)).code, 0);
}

// An encoder learns the words that are left out of the text.
TEST_F(FirstModel, OfAnEncodersFolderIsTunedOnAText) {
  ASSERT_EQ(job_.call({"tokenizer", "train", "text.txt", "--out", "tokenizer.json", "--vocab-size", "300",
                       "--special", "<|endoftext|>", "--special", "[MASK]"})
                .code,
            0);
  ASSERT_THAT(run("job.yaml",
                  set("model_provider",
                      "{name: modernbert, model: {vocab_size: 300, hidden_size: 32, intermediate_size: 48, "
                      "num_hidden_layers: 2, "
                      "num_attention_heads: 2}}") +
                      set("task", "{name: masked_lm, mask_token_id: 1}") +
                      set("data",
                          "{source: text, files: [text.txt], tokenizer: tokenizer.json, sequence_length: 32, "
                          "eos_token: "
                          "\"<|endoftext|>\", epochs: as_needed}") +
                      steps(1) + set("export_to", "encoder")),
              ends_well());

  const Outcome init = job_.call({"init", "tuned", "--model", "encoder", "--text", "text.txt"});

  ASSERT_THAT(init,
              prints(AllOf(HasSubstr("task: {name: masked_lm, mask_token_id: 1}"), HasSubstr("kind: lora"),
                           HasSubstr("use it:  model_provider.from: runs/tuned/export"))));
  ASSERT_THAT(run("tuned/job.yaml", steps(2)), ends_well());
  EXPECT_TRUE(exists("runs/tuned/export/model.safetensors"));
  EXPECT_THAT(job_.call({"init", "answers", "--model", "encoder", "--data", "chat.jsonl"}),
              is_refused("encoder is an encoder, which writes no answers"));
}

}  // namespace
}  // namespace d9d::test
