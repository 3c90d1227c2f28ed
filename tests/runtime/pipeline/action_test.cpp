#include "runtime/pipeline/action.hpp"

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

TEST(Action, SpeaksTheMnemonicsOfTheOriginal) {
  for (const char* text : {"0F0", "12B345", "2I1", "3W7", "0SEND_F0", "1RECV_F0", "1SEND_B2", "0RECV_B9"}) {
    EXPECT_EQ(to_string(parse_action(text)), text);
  }
  EXPECT_EQ(parse_action("2F3"), (Action{ActionKind::forward, 2, 3}));
  EXPECT_EQ(parse_action("1RECV_B4"), (Action{ActionKind::receive_backward, 1, 4}));
}

TEST(Action, RefusesWhatIsNoMnemonic) {
  for (const char* text : {"", "F", "0F", "F0", "0X0", "0F0x", "-1F0", "0SEND0", "0 F0", "99999999999F0"}) {
    EXPECT_THROW(parse_action(text), Error) << text;
  }
}

TEST(Action, ComposesWithABarWithOrWithoutParentheses) {
  const Instruction composed = parse_instruction("(0F3|3B1)");

  ASSERT_EQ(composed.parts.size(), 2U);
  EXPECT_EQ(to_string(composed), "0F3|3B1");
  EXPECT_EQ(parse_instruction("0F3|3B1"), composed);
  EXPECT_THROW(parse_instruction("0F3|"), Error);
}

}  // namespace
}  // namespace d9d
