#pragma once
// What a call throws, as text.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runtime/base/error.hpp"

namespace d9d::test {

// The text of the Error that `run` throws, or "no error". An Error of another kind than `kind` fails the test.
template <class Run>
std::string error_of(Run&& run, std::optional<ErrorKind> kind = std::nullopt) {
  try {
    run();
  } catch (const Error& error) {
    if (kind) {
      EXPECT_EQ(error.kind(), *kind) << error.what();
    }
    return error.what();
  }
  return "no error";
}

}  // namespace d9d::test
