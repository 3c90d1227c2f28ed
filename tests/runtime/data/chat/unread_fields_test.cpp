#include "runtime/data/chat/unread_fields.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(UnreadFields, AreNamedOnceWithACount) {
  UnreadFields unread;
  const auto reads = [](std::string_view name) { return name == "tool_calls"; };
  const RowJson messages =
      RowJson::parse(R"([{"role": "user", "content": "a", "name": "Ann", "tool_calls": null},
      {"role": "assistant", "content": "", "tool_calls": [1], "reasoning": "hm"}, {"role": "user", "content": "", "name": "B"}])");
  unread.add_of_conversation(messages, RowJson::parse("[1]"), nullptr, reads);
  unread.add_of_row("id");
  unread.add_of_row("id");

  testing::internal::CaptureStderr();
  unread.say();
  const std::string said = testing::internal::GetCapturedStderr();

  EXPECT_THAT(said, HasSubstr(R"("tools" of 1 row, "name" of 2 messages, "reasoning" of 1 message)"));
  EXPECT_THAT(said, HasSubstr(R"(not read: "id" of 2 rows)"));
}

}  // namespace
}  // namespace d9d
