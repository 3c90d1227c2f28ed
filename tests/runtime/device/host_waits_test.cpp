#include "runtime/device/host_waits.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace d9d {
namespace {

TEST(HostWaits, AreCountedByPlaceAndReason) {
  HostWaits::take();

  HostWaits::count("item");
  {
    const WaitPlace forward("F");
    HostWaits::count("item");
    {
      const WaitPlace inner("B");
      HostWaits::count("nonzero");
    }
    HostWaits::count("item");
  }

  const HostWaits::Counts expected{{{"", "item"}, 1}, {{"F", "item"}, 2}, {{"B", "nonzero"}, 1}};
  const HostWaits::Counts counts = HostWaits::take();
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(HostWaits::in(counts, "F"), 2);
  EXPECT_EQ(HostWaits::in(counts, "W"), 0);
  EXPECT_TRUE(HostWaits::take().empty());
}

TEST(HostWaits, OfAnotherThreadAreNotInThisOnesPlace) {
  HostWaits::take();
  const WaitPlace here("F");

  std::thread([] { HostWaits::count("item"); }).join();

  EXPECT_EQ(HostWaits::in(HostWaits::take(), "F"), 0);
}

}  // namespace
}  // namespace d9d
