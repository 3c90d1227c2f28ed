#include "runtime/state/convert/model_converter.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(InThreads, EachDoesTheWork) {
  std::atomic<int> calls = 0;

  in_threads(
      3, [&] { ++calls; }, [] { FAIL(); });

  EXPECT_EQ(calls, 3);
}

TEST(InThreads, TheFirstFailureCancelsTheOthersAndIsTold) {
  std::atomic<bool> cancelled = false;
  std::atomic<int> calls = 0;
  const auto work = [&] {
    if (calls++ == 1) throw Error(ErrorKind::environment, "disk full");
    cancelled.wait(false);
  };
  const auto cancel = [&] {
    cancelled = true;
    cancelled.notify_all();
  };

  EXPECT_EQ(test::error_of([&] { in_threads(4, work, cancel); }), "disk full");
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace d9d
