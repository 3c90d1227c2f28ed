#include "runtime/data/chat/chat_rows.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Conversation talk_of(const std::string& line, const ChatDataConfig& config = {}) {
  UnreadFields unread;
  return std::get<Conversation>(read_chat_row(config, RowJson::parse(line), "talk.jsonl:3", unread));
}

std::string refusal_of_row(const std::string& line) {
  return test::error_of([&] { talk_of(line); }, ErrorKind::input);
}

TEST(ChatRows, KeepAllThatAMessageHasInItsOrder) {
  const Conversation talk = talk_of(R"({"messages": [
      {"role": "user", "content": "rain?", "name": "Ann"},
      {"content": null, "role": "assistant", "tool_calls": [{"function": {"name": "w", "arguments": {"b": 1, "a": 2}}}]},
      {"role": "tool", "content": "dry", "tool_call_id": "c1"}, {"role": "assistant", "content": "no"}],
      "tools": "[{\"z\": 1, \"a\": 2}]", "system": "Be kind."})");

  EXPECT_EQ(
      talk.messages.dump(),
      R"([{"role":"system","content":"Be kind."},{"role":"user","content":"rain?","name":"Ann"},)"
      R"({"content":null,"role":"assistant","tool_calls":[{"function":{"name":"w","arguments":{"b":1,"a":2}}}]},)"
      R"({"role":"tool","content":"dry","tool_call_id":"c1"},{"role":"assistant","content":"no"}])");
  EXPECT_EQ(talk.tools.dump(), R"([{"z":1,"a":2}])");
  EXPECT_THAT(talk.trained, ElementsAre(2U, 4U));
}

TEST(ChatRows, DoNotCountMessagesOfWeightZero) {
  const Conversation talk = talk_of(R"({"messages": [
      {"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "weight": 0},
      {"role": "user", "content": "c"}, {"role": "assistant", "content": "d", "weight": 1},
      {"role": "user", "content": "e"}, {"role": "assistant", "content": "f", "train": false}]})");

  EXPECT_THAT(talk.answers, ElementsAre(1U, 3U, 5U));
  EXPECT_THAT(talk.trained, ElementsAre(3U));
  EXPECT_FALSE(talk.messages[1].contains("weight"));
}

TEST(ChatRows, CountTheLastAnswerAlone) {
  ChatDataConfig config;
  config.loss = ChatLoss::last_answer;
  const std::string line =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
      {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}, {"role": "user", "content": "e"}]})";

  EXPECT_THAT(talk_of(line, config).trained, ElementsAre(3U));
  EXPECT_THAT(talk_of(line).trained, ElementsAre(1U, 3U));
}

TEST(ChatRows, ReadShareGptAndItsTools) {
  const Conversation talk = talk_of(R"({"conversations": [
      {"from": "human", "value": "rain?"}, {"from": "function_call", "value": "{\"name\": \"w\", \"arguments\": {\"b\": 1}}"},
      {"from": "observation", "value": "dry"}, {"from": "gpt", "value": "no"}], "system": "", "tools": ""})");

  EXPECT_EQ(
      talk.messages.dump(),
      R"([{"role":"user","content":"rain?"},)"
      R"({"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"w","arguments":{"b":1}}}]},)"
      R"({"role":"tool","content":"dry"},{"role":"assistant","content":"no"}])");
  EXPECT_THAT(talk.trained, ElementsAre(1U, 3U));
  EXPECT_TRUE(talk.tools.is_null());
}

TEST(ChatRows, KeepTheRolesThatMarkersName) {
  ChatDataConfig config;
  config.roles = {{"human", {}}, {"gpt", {}}};
  config.trained_roles = {"gpt"};
  const Conversation talk = talk_of(
      R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]})", config);

  EXPECT_EQ(talk.messages[1]["role"], "gpt");
  EXPECT_THAT(talk.trained, ElementsAre(1U));
}

TEST(ChatRows, ReadAlpacaAndItsHistory) {
  const Conversation talk = talk_of(R"({"instruction": "Add.", "input": "7, 5", "output": "12",
                                        "history": [["a", "b"]], "system": "Be kind."})");

  EXPECT_EQ(
      talk.messages.dump(),
      R"([{"role":"system","content":"Be kind."},{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
      R"({"role":"user","content":"Add.\n7, 5"},{"role":"assistant","content":"12"}])");
  EXPECT_EQ(talk_of(R"({"instruction": "Add.", "input": "", "output": "12"})").messages[0]["content"],
            "Add.");
}

TEST(ChatRows, CountOnlyTheCompletionOfMessages) {
  const Conversation talk = talk_of(R"({
      "prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
      "completion": [{"role": "assistant", "content": "d"}]})");

  EXPECT_EQ(talk.messages.size(), 4U);
  EXPECT_THAT(talk.trained, ElementsAre(3U));
}

TEST(ChatRows, SayWhatARowLacks) {
  const auto in_message = [](const std::string& message) {
    return refusal_of_row(R"({"messages": [)" + message + "]}");
  };
  EXPECT_THAT(refusal_of_row(R"({"question": "a", "reply": "b"})"),
              HasSubstr(R"(the row has the keys "question", "reply"; name the key of the messages)"));
  EXPECT_THAT(in_message(R"({"role": "assistant", "content": null})"),
              HasSubstr("talk.jsonl:3: no text under \"content\" of a message: it is null, and the message "
                        "has no tool_calls"));
  EXPECT_THAT(in_message(R"({"role": "user", "text": "a"})"),
              HasSubstr(R"(the message has the keys "role", "text")"));
  EXPECT_THAT(in_message(R"({"role": "user", "content": 4})"),
              HasSubstr("it is number; expected a text or a list of parts"));
  EXPECT_THAT(in_message(R"({"role": "user", "content": [{"type": "image", "url": "x"}]})"),
              HasSubstr(R"("content" has a part of type "image")"));
  EXPECT_THAT(in_message(R"({"role": "assistant", "content": "a", "weight": 0.5})"),
              HasSubstr("the weight of a message is 0.5; give 0 or 1"));
  EXPECT_THAT(in_message(R"("hello")"), HasSubstr("a message is string; expected an object"));
  EXPECT_THAT(refusal_of_row(R"({"messages": []})"), HasSubstr("an empty list of messages"));
  EXPECT_THAT(refusal_of_row(R"({"messages": [{"role": "system", "content": "a"}], "system": "b"})"),
              HasSubstr("keep one of them"));
  EXPECT_THAT(refusal_of_row(R"({"messages": [{"role": "user", "content": "a"}], "tools": "no list"})"),
              HasSubstr("\"tools\" is neither a list nor the JSON text of one"));
  EXPECT_THAT(refusal_of_row(R"({"prompt": [{"role": "user", "content": "a"}], "completion": "b"})"),
              HasSubstr("give two texts or two lists"));
}

}  // namespace
}  // namespace d9d
