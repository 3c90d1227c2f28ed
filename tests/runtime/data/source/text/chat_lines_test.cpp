#include "runtime/data/source/text/chat_lines.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ChatDataConfig chat_markers() {
  ChatDataConfig config;
  config.begin = "<s>";
  config.roles = {
      {"system", {"[sys]", "\n"}}, {"user", {"[user]", "\n"}}, {"assistant", {"[bot]", "[end]\n"}}};
  return config;
}

std::vector<ChatPart> parts_of_line(const ChatDataConfig& config, const std::string& line,
                                    const std::string& where) {
  UnreadFields unread;
  const ChatRow read = read_chat_row(config, RowJson::parse(line), where, unread);
  if (const auto* pair = std::get_if<TextPair>(&read)) return marked_parts(config, *pair);
  return marked_parts(config, std::get<Conversation>(read), where);
}

std::string error_of_line(const std::string& line) {
  return test::error_of([&] { parts_of_line(chat_markers(), line, "talk.jsonl:7"); }, ErrorKind::input);
}

TEST(ChatLines, CountWhatTheAssistantSaysAndItsSuffix) {
  EXPECT_THAT(
      parts_of_line(chat_markers(), R"({"messages": [
                 {"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"},
                 {"role": "assistant", "content": "good day"}, {"role": "user", "content": "bye"},
                 {"role": "assistant", "content": "farewell"}]})",
                    "here"),
      ElementsAre(ChatPart{"<s>[sys]be kind\n[user]hello\n[bot]", false}, ChatPart{"good day[end]\n", true},
                  ChatPart{"[user]bye\n[bot]", false}, ChatPart{"farewell[end]\n", true}));
}

TEST(ChatLines, CountTheRolesAndReadTheKeysThatTheJobNames) {
  ChatDataConfig config = chat_markers();
  config.trained_roles = {"user"};
  config.messages_field = "conversations";
  config.role_field = "from";
  config.content_field = "value";

  EXPECT_THAT(parts_of_line(config, R"({"conversations": [{"from": "user", "value": "hello"},
                                                       {"from": "assistant", "value": "hm"}]})",
                            "here"),
              ElementsAre(ChatPart{"<s>[user]", false}, ChatPart{"hello\n", true},
                          ChatPart{"[bot]hm[end]\n", false}));
}

TEST(ChatLines, CountACompletionAndNoPrompt) {
  EXPECT_THAT(parts_of_line(chat_markers(), R"({"prompt": "2 + 2 = ", "completion": "4"})", "here"),
              ElementsAre(ChatPart{"<s>2 + 2 = ", false}, ChatPart{"4", true}));
}

TEST(ChatLines, SayWhatALineLacks) {
  EXPECT_THAT(error_of_line(R"({"text": "a"})"), HasSubstr("name the key of the messages with "
                                                           "data.messages_field"));
  EXPECT_THAT(error_of_line(R"({"prompt": "a", "completion": 4})"),
              HasSubstr("no text under \"completion\""));
  EXPECT_THAT(error_of_line(R"({"messages": [{"role": "tool", "content": "a"}]})"),
              HasSubstr("a message has the role \"tool\", which data.roles lacks; add `tool: {prefix"));
  EXPECT_THAT(error_of_line(R"({"messages": [{"role": "user", "content": null}]})"),
              HasSubstr("no text under \"content\""));
  EXPECT_THAT(
      error_of_line(
          R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {}}]}]})"),
      HasSubstr("tool_calls, which the markers of data.roles cannot write"));
}

TEST(ChatLines, DoNotCountWhatARowTakesOut) {
  ChatDataConfig last = chat_markers();
  last.loss = ChatLoss::last_answer;
  const std::string line = R"({"messages": [{"role": "assistant", "content": "a", "weight": 0},
      {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
      {"role": "assistant", "content": "d"}, {"role": "user", "content": "e"}, {"role": "assistant", "content": "f"}]})";

  EXPECT_THAT(parts_of_line(chat_markers(), line, "here"),
              ElementsAre(ChatPart{"<s>[bot]a[end]\n[user]bc\n[bot]", false}, ChatPart{"d[end]\n", true},
                          ChatPart{"[user]e\n[bot]", false}, ChatPart{"f[end]\n", true}));
  EXPECT_THAT(parts_of_line(last, line, "here"),
              ElementsAre(ChatPart{"<s>[bot]a[end]\n[user]bc\n[bot]d[end]\n[user]e\n[bot]", false},
                          ChatPart{"f[end]\n", true}));
}

}  // namespace
}  // namespace d9d
