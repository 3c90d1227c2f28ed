// Token ids and loss masks of conversations beside transformers' apply_chat_template (expect.json).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/data/chat/prompt_writer.hpp"
#include "runtime/data/source/chat_source.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/needs_jinja.hpp"

namespace d9d {
namespace {

const std::string golden = std::string(D9D_SOURCE_DIR) + "/tests/golden/";

RowJson chat_cases() {
  std::ifstream file(golden + "chat/expect.json");
  return RowJson::parse(file);
}

// The tokenizer's folder with the template, and the rows of the case as JSON lines.
ChatDataConfig written(const Folder& folder, const RowJson& one, const std::string& text) {
  std::filesystem::copy_file(golden + "tokenizer/" + one["tokenizer"].get<std::string>() + ".json",
                             folder.path("tokenizer.json"),
                             std::filesystem::copy_options::overwrite_existing);
  RowJson settings = one["special"];
  settings["chat_template"] = text;
  folder.write("tokenizer_config.json", settings.dump());
  std::string lines;
  for (const auto& row : one["rows"]) lines += row["row"].dump() + "\n";
  ChatDataConfig config;
  config.files = {folder.write("rows.jsonl", lines)};
  config.tokenizer = folder.path("tokenizer.json");
  config.sequence_length = 8;
  for (const auto& [name, value] : one["arguments"].items()) config.template_arguments[name] = value;
  return config;
}

void compare(const RowJson& one, const char* which) {
  const Folder folder;
  const ChatDataConfig config = written(folder, one, one[which].get<std::string>());
  const Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  std::size_t i = 0;
  chat_recipe(config, tokenizer).make([&](const MadeDocument& document) {
    const auto& expected = one["rows"][i++];
    const std::string where = one["template"].get<std::string>() + " " + one["tokenizer"].get<std::string>() +
                              " " + which + " " + expected["row"].dump();
    EXPECT_EQ(std::vector<std::int32_t>(document.ids.begin(), document.ids.end()),
              expected["ids"].get<std::vector<std::int32_t>>())
        << where;
    std::vector<int> counted(document.counted->begin(), document.counted->end());
    EXPECT_EQ(counted, expected["counted"].get<std::vector<int>>()) << where;
  });
  EXPECT_EQ(i, one["rows"].size());
}

TEST(ChatGolden, HasTheIdsAndMasksOfApplyChatTemplate) {
  D9D_NEEDS_JINJA();

  for (const auto& one : chat_cases()) compare(one, "text");
}

TEST(ChatGolden, FindsTheAnswersWhereATemplateDoesNotMarkThem) {
  D9D_NEEDS_JINJA();

  for (const auto& one : chat_cases()) compare(one, "plain");
}

TEST(ChatGolden, WritesAPromptUpToWhereTheAnswerBegins) {
  D9D_NEEDS_JINJA();

  for (const auto& one : chat_cases()) {
    const Folder folder;
    const ChatDataConfig config = written(folder, one, one["text"].get<std::string>());
    TemplateUse use;
    use.tokenizer = config.tokenizer;
    use.arguments = config.template_arguments;
    PromptWriter writer(use);
    for (const auto& expected : one["rows"]) {
      RowJson messages = expected["row"]["messages"];
      messages.erase(messages.size() - 1);
      EXPECT_EQ(writer.of_messages(messages, expected["row"], "here"), expected["prompt"].get<std::string>());
    }
  }
}

// A tokenizer that puts a mark in front of a text does not put it in front of each part.
TEST(ChatGolden, EncodesTextsWithMarkersAsAWhole) {
  std::ifstream file(golden + "chat/expect.markers.json");
  for (const auto& one : RowJson::parse(file)) {
    const Folder folder;
    ChatDataConfig config;
    config.files = {folder.write("rows.jsonl", one["row"].dump())};
    config.tokenizer = golden + "tokenizer/" + one["tokenizer"].get<std::string>() + ".json";
    config.sequence_length = 8;
    config.roles = {{"user", {"<s>[INST] ", " [/INST]\n"}}, {"assistant", {"", "</s>"}}};
    const Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
    int made = 0;
    chat_recipe(config, tokenizer).make([&](const MadeDocument& document) {
      EXPECT_EQ(std::vector<std::int32_t>(document.ids.begin(), document.ids.end()),
                one["ids"].get<std::vector<std::int32_t>>())
          << one.dump();
      const std::vector<int> counted(document.counted->begin(), document.counted->end());
      EXPECT_EQ(counted, one["counted"].get<std::vector<int>>()) << one.dump();
      ++made;
    });
    EXPECT_EQ(made, 1);
  }
}

}  // namespace
}  // namespace d9d
