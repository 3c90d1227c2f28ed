#include "actors/job/run/leave_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace d9d {
namespace {

TEST(LeaveWatch, LeavesWhereClosingTakesTooLong) {
  std::promise<void> left;
  const LeaveWatch watch(std::chrono::milliseconds(1), [&] { left.set_value(); });

  EXPECT_EQ(left.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(LeaveWatch, LeavesNotWhereAllHasClosed) {
  std::atomic<bool> left = false;
  {
    const LeaveWatch watch(std::chrono::hours(1), [&] { left = true; });
  }

  EXPECT_FALSE(left);
}

// The request to stop meets the beginning of the wait at another moment each time.
TEST(LeaveWatch, LeavesNotWhereAllClosesAsTheWatchBegins) {
  std::atomic<int> left = 0;
  constexpr int times = 20'000;
  for (int i = 0; i < times; ++i) {
    const LeaveWatch watch(std::chrono::hours(1), [&] { ++left; });
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 80);
    while (std::chrono::steady_clock::now() < until) {
    }
  }

  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace d9d
