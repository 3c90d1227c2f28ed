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

}  // namespace
}  // namespace d9d
