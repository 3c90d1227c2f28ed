#include "runtime/data/source/chat_source.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/needs_jinja.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

const std::string tokenizer_of_chat = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json";

ChatDataConfig chat_of(std::string file) {
  ChatDataConfig config;
  config.files = {std::move(file)};
  config.tokenizer = tokenizer_of_chat;
  config.sequence_length = 64;
  config.roles = {{"user", {"Q: ", "\n"}}, {"assistant", {"A: ", "\n"}}};
  config.eos_token = "<|endoftext|>";
  return config;
}

std::string decoded(const std::vector<std::int64_t>& ids) {
  std::vector<std::int32_t> narrow;
  for (const std::int64_t id : ids) {
    if (id != ignored_label) narrow.push_back(static_cast<std::int32_t>(id));
  }
  return Tokenizer::from_file(tokenizer_of_chat).decode(narrow, false);
}

TEST(ChatSource, HasLabelsForWhatTheModelIsToSay) {
  const Folder folder;
  const ChatSource source(chat_of(folder.write("talk.jsonl", R"(
{"messages": [{"role": "user", "content": "what is a stone?"}, {"role": "assistant", "content": "a small rock"}]}
{"prompt": "the house of ", "completion": "the king"}
)")));

  ASSERT_EQ(source.num_samples(), 1U);
  const Sample sample = source.at(0);

  EXPECT_EQ(decoded(sample.labels), "a small rock\n<|endoftext|>the king<|endoftext|>");
  EXPECT_THAT(decoded(sample.input_ids),
              HasSubstr("Q: what is a stone?\nA: a small rock\nthe house of the king<|endoftext|>"));
  // A label is the token after its input.
  std::size_t second = 0;
  for (std::size_t i = 0; i + 1 < sample.labels.size(); ++i) {
    if (sample.document_starts[i + 1] > 0 && second == 0) second = i + 1;
    if (sample.labels[i] == ignored_label || sample.document_starts[i + 1] != sample.document_starts[i])
      continue;
    EXPECT_EQ(sample.labels[i], sample.input_ids[i + 1]);
  }
  EXPECT_EQ(sample.document_starts[second], static_cast<std::int64_t>(second));
}

TEST(ChatSource, RefusesDataOfWhichNothingCounts) {
  const Folder folder;
  ChatDataConfig config = chat_of(
      folder.write("talk.jsonl", R"({"messages": [{"role": "user", "content": "what is a stone?"}]})"));

  EXPECT_THAT(test::error_of([&] { const ChatSource source(config); }, ErrorKind::input),
              HasSubstr("data.trained_roles: no conversation has a message of these roles"));
}

// A folder of a tokenizer with a template that writes roles and contents alone.
ChatDataConfig chat_with_template(const Folder& folder, const std::string& rows) {
  std::filesystem::copy_file(tokenizer_of_chat, folder.path("tokenizer.json"));
  folder.write("chat_template.jinja",
               "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
               "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}");
  ChatDataConfig config = chat_of(folder.write("talk.jsonl", rows));
  config.tokenizer = folder.path("tokenizer.json");
  config.roles.clear();
  config.eos_token.reset();
  config.samples = SampleUnit::document;
  return config;
}

TEST(ChatSource, WritesConversationsWithTheTemplateBesideTheTokenizer) {
  D9D_NEEDS_JINJA();
  const Folder folder;
  const ChatSource source(chat_with_template(folder, R"(
{"messages": [{"role": "user", "content": "what is a stone?"}, {"role": "assistant", "content": "a small rock"}]}
{"prompt": "the house of ", "completion": "the king"}
{"messages": [{"role": "user", "content": "who?"}, {"role": "assistant", "content": "the king"}], "system": "Be kind."}
)"));

  ASSERT_EQ(source.num_samples(), 3U);
  EXPECT_THAT(
      decoded(source.at(0).input_ids),
      testing::StartsWith("<|im_start|>user what is a stone?<|im_end|><|im_start|>assistant a small rock"));
  EXPECT_EQ(decoded(source.at(0).labels), " a small rock<|im_end|>");
  EXPECT_EQ(decoded(source.at(1).labels), "the king") << "texts have no roles";
  EXPECT_THAT(decoded(source.at(2).input_ids), testing::StartsWith("<|im_start|>system Be kind.<|im_end|>"));
}

TEST(ChatSource, RefusesCallsThatTheTemplateDoesNotWrite) {
  D9D_NEEDS_JINJA();
  const Folder folder;
  const ChatDataConfig config = chat_with_template(
      folder,
      R"({"messages": [{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "w"}}]}]})");

  EXPECT_THAT(
      test::error_of([&] { const ChatSource source(config); }, ErrorKind::input),
      HasSubstr(
          "talk.jsonl:1: a message has tool_calls and no text, and the chat template writes no tool_calls"));
}

TEST(ChatSource, RefusesTwoWaysToWriteAConversation) {
  const Folder folder;
  ChatDataConfig config = chat_of(folder.write("talk.jsonl", "{}"));
  config.chat_template = "tool_use";

  EXPECT_THAT(test::error_of([&] { const ChatSource source(config); }, ErrorKind::input),
              HasSubstr("data.roles and data.chat_template both say"));
}

TEST(ChatSource, MakesOtherIdsOfAnotherTemplateOrDate) {
  const Folder folder;
  ChatDataConfig config = chat_with_template(folder, "");
  const Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  const auto keys = chat_recipe(config, tokenizer).keys;

  EXPECT_EQ(chat_recipe(config, tokenizer).keys, keys);
  config.template_date = "2024-07-26";
  EXPECT_NE(chat_recipe(config, tokenizer).keys, keys);
  config.template_date.reset();
  config.template_arguments["think"] = false;
  EXPECT_NE(chat_recipe(config, tokenizer).keys, keys);
  config.template_arguments.clear();
  folder.write("chat_template.jinja", "{{ messages }}");
  EXPECT_NE(chat_recipe(config, tokenizer).keys, keys);
}

TEST(ChatSource, NamesTheLineOfAnError) {
  const Folder folder;
  const std::string file = folder.write("talk.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}\n{}\n");

  EXPECT_THAT(test::error_of([&] { const ChatSource source(chat_of(file)); }, ErrorKind::input),
              HasSubstr(file + ":2: neither a list under \"messages\""));
}

// lm-evaluation-harness 1465, trl 3083: a model is trained on other texts than it is asked, or never learns to stop.
TEST(ChatSource, TellsOfTextsThatLackTheEndsOfThePromptsThatComeLater) {
  const Folder folder;
  ChatDataConfig config =
      chat_of(folder.write("pairs.jsonl", R"({"prompt": "the house ", "completion": "the king"})"));
  config.tokenizer = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/llama.json";
  config.eos_token.reset();
  const auto said = [&] {
    testing::internal::CaptureStderr();
    ChatSource(config).at(0);
    return testing::internal::GetCapturedStderr();
  };

  EXPECT_THAT(said(), testing::AllOf(HasSubstr("set data.begin: \"<s>\""), HasSubstr("set data.eos_token")));
  config.begin = "<s>";
  config.eos_token = "</s>";
  EXPECT_EQ(said(), "");
}

// LlamaFactory 8197: answers under a role that nobody trains.
TEST(ChatSource, TellsOfConversationsInWhichNothingCounts) {
  const Folder folder;
  ChatDataConfig config = chat_of(folder.write("talk.jsonl", R"(
{"messages": [{"role": "user", "content": "what is a stone?"}, {"role": "assistant", "content": "a small rock"}]}
{"messages": [{"role": "user", "content": "what is a stone?"}, {"role": "bing", "content": "a small rock"}]}
)"));
  config.roles["bing"] = {"B: ", "\n"};

  testing::internal::CaptureStderr();
  ChatSource(config).at(0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("1 of 2 conversations have no message of these roles (assistant), so nothing of them "
                        "counts in the loss; their roles are bing, user"));
}

}  // namespace
}  // namespace d9d
