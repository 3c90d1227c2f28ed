#include "runtime/task/user_call.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace d9d {
namespace {

// "kind: text" of what comes out when users' code throws this.
template <class Exception>
std::string caught(ErrorInside inside, const Exception& thrown) {
  try {
    call_user("the task's state", inside, [&]() -> int { throw thrown; });
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + ": " + error.what();
  }
  return "nothing";
}

TEST(UserCall, ReturnsWhatTheCallReturns) {
  EXPECT_EQ(call_user("the task's state", ErrorInside::passes, [] { return 7; }), 7);
}

TEST(UserCall, WhatIsNoErrorOfD9dIsNoBugOfD9d) {
  for (const ErrorInside inside : {ErrorInside::passes, ErrorInside::is_named}) {
    EXPECT_EQ(caught(inside, std::out_of_range("a bad day")),
              "environment: the task's state threw: a bad day");
    EXPECT_EQ(caught(inside, 7), "environment: the task's state threw: an exception of unknown type");
  }
}

TEST(UserCall, AnErrorPassesAsItIsOrGetsTheNameOfTheCall) {
  const Error input(ErrorKind::input, "no such column"), bug(ErrorKind::bug, "no such column");

  EXPECT_EQ(caught(ErrorInside::passes, input), "input: no such column");
  EXPECT_EQ(caught(ErrorInside::passes, bug), "bug: no such column");
  EXPECT_EQ(caught(ErrorInside::is_named, input), "input: the task's state threw: no such column");
  EXPECT_EQ(caught(ErrorInside::is_named, bug), "environment: the task's state threw: no such column");
}

TEST(UserCall, AnErrorThatNamesItsPlacePassesWhereABugIsNamed) {
  const Error input(ErrorKind::input, "no such column"), bug(ErrorKind::bug, "no such column");

  EXPECT_EQ(caught(ErrorInside::bug_is_named, input), "input: no such column");
  EXPECT_EQ(caught(ErrorInside::bug_is_named, bug), "environment: the task's state threw: no such column");
  EXPECT_EQ(caught(ErrorInside::bug_is_named, 7),
            "environment: the task's state threw: an exception of unknown type");
}

}  // namespace
}  // namespace d9d
