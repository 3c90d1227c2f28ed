#pragma once
// What a call throws, as text.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runtime/base/error.hpp"

namespace d9d::test {

// The text of the exception that `run` throws, or "no error". An Error of another kind than `kind` fails the test.
template <class Exception = Error, class Run>
std::string error_of(Run&& run, std::optional<ErrorKind> kind = std::nullopt) {
  try {
    run();
  } catch (const Exception& error) {
    if constexpr (requires { error.kind(); }) {
      EXPECT_EQ(error.kind(), kind.value_or(error.kind())) << error.what();
    }
    if constexpr (requires { error.what_without_backtrace(); }) {
      return error.what_without_backtrace();
    } else {
      return error.what();
    }
  }
  return "no error";
}

}  // namespace d9d::test
