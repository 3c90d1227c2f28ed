#include "runtime/data/chat/answering_process.hpp"

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds long_enough{600};

TEST(AnsweringProcess, AnswersLinesInOrderHoweverMuchIsSaid) {
  AnsweringProcess echo({"cat"});
  const std::string much(1 << 20, 'x');

  for (int i = 0; i < 8; ++i) echo.say(much + std::to_string(i));

  for (int i = 0; i < 8; ++i) EXPECT_EQ(echo.answer(long_enough), much + std::to_string(i));
}

TEST(AnsweringProcess, HasNoAnswerWhereTheProgramHasEndedOrIsSilent) {
  AnsweringProcess ended({"true"});
  ended.say("anybody?");
  EXPECT_FALSE(ended.answer(long_enough));

  AnsweringProcess silent({"sleep", "600"});
  EXPECT_FALSE(silent.answer(std::chrono::milliseconds(20)));
}

TEST(AnsweringProcess, SaysThatItCannotBeStarted) {
  EXPECT_EQ(test::error_of([] { AnsweringProcess({"/no/program"}); }, ErrorKind::environment),
            "cannot start /no/program: No such file or directory");
}

}  // namespace
}  // namespace d9d
