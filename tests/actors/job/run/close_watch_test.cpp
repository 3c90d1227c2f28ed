#include "actors/job/run/close_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace d9d {
namespace {

TEST(CloseWatch, LeavesWhereClosingTakesTooLong) {
  std::promise<void> left;
  const CloseWatch watch(std::chrono::milliseconds(1), [&] { left.set_value(); });

  EXPECT_EQ(left.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(CloseWatch, LeavesNotWhereAllHasClosed) {
  std::atomic<bool> left = false;
  {
    const CloseWatch watch(std::chrono::hours(1), [&] { left = true; });
  }

  EXPECT_FALSE(left);
}

}  // namespace
}  // namespace d9d
