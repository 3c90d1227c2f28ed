#pragma once
// How a call of d9d-node ended, and matchers for it.

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <type_traits>

namespace d9d::test {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;

  friend void PrintTo(const Outcome& outcome, std::ostream* to) {
    *to << "exit code " << outcome.code << "\n" << outcome.out << outcome.err;
  }
};

// Ended with the code; what it printed to that stream has `text`, or is as the matcher `text` says.
template <class Text>
testing::Matcher<const Outcome&> ended_with(int code, std::string Outcome::*stream, const Text& text) {
  const auto has = [&] {
    if constexpr (std::is_constructible_v<std::string, const Text&>) {
      return testing::HasSubstr(std::string(text));
    } else {
      return text;
    }
  }();
  return testing::AllOf(testing::Field("code", &Outcome::code, code), testing::Field(stream, has));
}

inline testing::Matcher<const Outcome&> ends_well() {
  return testing::Field("code", &Outcome::code, 0);
}
template <class Text>
testing::Matcher<const Outcome&> prints(const Text& text) {
  return ended_with(0, &Outcome::out, text);
}
template <class Text>
testing::Matcher<const Outcome&> says(const Text& text) {
  return ended_with(0, &Outcome::err, text);
}
template <class Text>
testing::Matcher<const Outcome&> fails(const Text& text) {
  return ended_with(1, &Outcome::err, text);
}
// Bad input.
template <class Text>
testing::Matcher<const Outcome&> is_refused(const Text& text) {
  return ended_with(2, &Outcome::err, text);
}

}  // namespace d9d::test
