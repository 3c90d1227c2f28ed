#include "runtime/data/chat/template_files.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

struct TokenizerFolder : Folder {
  const std::string tokenizer = write("tokenizer.json", "{}");
};

TEST(TemplateFiles, AreTheTextOrTheListOfTheSettings) {
  const TokenizerFolder folder;
  EXPECT_FALSE(find_chat_template(folder.tokenizer, {}));

  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": "one", "bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true})");
  const auto one = find_chat_template(folder.tokenizer, {});
  EXPECT_EQ(one->texts.at("default"), "one");
  EXPECT_EQ(one->special_tokens, nlohmann::json::parse(R"({"bos_token": "<s>", "eos_token": "</s>"})"));

  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "a"},
                                                              {"name": "tool_use", "template": "b"}]})");
  EXPECT_EQ(find_chat_template(folder.tokenizer, {})->texts.size(), 2U);
  EXPECT_EQ(find_chat_template(folder.tokenizer, "tool_use")->choice, "tool_use");
}

TEST(TemplateFiles, OfTheirOwnGoBeforeTheSettings) {
  const TokenizerFolder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": "settings"})");
  folder.write("chat_template.jinja", "file");
  folder.write("mine.jinja", "mine");

  EXPECT_EQ(find_chat_template(folder.tokenizer, {})->texts.at("default"), "file");
  EXPECT_EQ(find_chat_template(folder.tokenizer, folder.path("mine.jinja"))->texts.at("default"), "mine");
}

// transformers 5.23 opens a template as UTF-8 and so writes the mark as a character; its json refuses the settings.
TEST(TemplateFiles, WithAByteOrderMarkAreRefused) {
  const TokenizerFolder folder;
  const auto refusal = [&](const std::optional<std::string>& wanted) {
    return test::error_of([&] { find_chat_template(folder.tokenizer, wanted); }, ErrorKind::input);
  };
  EXPECT_THAT(refusal(folder.write("mine.jinja", "\xEF\xBB\xBFmine")),
              HasSubstr("mine.jinja begins with a byte order mark"));
  folder.write("chat_template.jinja", "\xEF\xBB\xBF{{ messages }}");
  EXPECT_THAT(refusal({}), HasSubstr("chat_template.jinja begins with a byte order mark"));
  folder.write("tokenizer_config.json", "\xEF\xBB\xBF{}");
  EXPECT_THAT(refusal({}), HasSubstr("tokenizer_config.json begins with a byte order mark"));
}

TEST(TemplateFiles, BelongToTheTokenizerOfTheirFolderAlone) {
  const TokenizerFolder folder;
  folder.write("chat_template.jinja", "file");

  EXPECT_FALSE(find_chat_template(folder.write("another.json", "{}"), {}));
}

TEST(TemplateFiles, AreNamedWhereOneIsToBeChosen) {
  const TokenizerFolder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "a"},
                                                              {"name": "tool_use", "template": "b"}]})");

  EXPECT_THAT(test::error_of([&] { find_chat_template(folder.tokenizer, {}); }, ErrorKind::input),
              HasSubstr("none is called default; name one of them with chat_template: rag, tool_use"));
  EXPECT_THAT(
      test::error_of([&] { find_chat_template(folder.tokenizer, "rga"); }, ErrorKind::input),
      HasSubstr("chat_template = rga: there is no such file, and no template of this name (rag, tool_use)"));
}

}  // namespace
}  // namespace d9d
