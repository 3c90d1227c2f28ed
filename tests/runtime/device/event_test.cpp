#include "runtime/device/event.hpp"

#include <gtest/gtest.h>

#include "runtime/device/host_waits.hpp"

namespace d9d {
namespace {

struct Flag final : Event::State {
  bool reached() const override { return waited; }
  void wait() const override { waited = true; }
  mutable bool waited = false;
};

TEST(Event, WithoutAStateIsReachedAndNobodyWaits) {
  HostWaits::take();
  const Event event;

  event.wait("a test");

  EXPECT_TRUE(event.done());
  EXPECT_TRUE(HostWaits::take().empty());
}

TEST(Event, IsWaitedForOnTheHostAndCounted) {
  HostWaits::take();
  const Event event(std::make_shared<Flag>());
  const bool before = event.done();

  event.wait("a test");

  EXPECT_FALSE(before);
  EXPECT_TRUE(event.done());
  EXPECT_EQ(HostWaits::take(), (HostWaits::Counts{{{"", "a test"}, 1}}));
}

}  // namespace
}  // namespace d9d
