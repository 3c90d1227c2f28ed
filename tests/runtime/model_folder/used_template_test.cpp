#include "runtime/model_folder/used_template.hpp"

#include <gmock/gmock.h>

#include "runtime/data/config/data_parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class UsedTemplate : public testing::Test {
 protected:
  UsedTemplate() {
    folder_.write("tokenizer.json", "{}");
    folder_.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "a"},
                                                                 {"name": "tools", "template": "b"}]})");
    folder_.write("own.jinja", "own");
    folder_.write("other.jinja", "other");
  }
  ChatDataConfig chat(std::optional<std::string> chat_template) const {
    ChatDataConfig config;
    config.tokenizer = (folder_ / "tokenizer.json").string();
    config.chat_template = std::move(chat_template);
    return config;
  }
  std::string file(const char* name) const { return (folder_ / name).string(); }

  const test::TemporaryFolder folder_;
};

TEST_F(UsedTemplate, IsTheFileThatTheDataName) {
  EXPECT_EQ(used_template(chat(file("own.jinja"))), "own");
  EXPECT_EQ(used_template(chat("tools")), std::nullopt) << "the tokenizer has it";
  EXPECT_EQ(used_template(chat({})), std::nullopt);
  EXPECT_EQ(used_template(TextDataConfig()), std::nullopt);
}

TEST_F(UsedTemplate, OfAMixtureIsTheOneOfAllItsParts) {
  MixtureDataConfig mixture;
  mixture.parts = {{1, chat(file("own.jinja"))}, {1, TextDataConfig()}, {1, chat(file("own.jinja"))}};
  EXPECT_EQ(used_template(mixture), "own");
  mixture.parts.push_back({1, chat(file("other.jinja"))});
  EXPECT_EQ(used_template(mixture), std::nullopt);
}

}  // namespace
}  // namespace d9d
