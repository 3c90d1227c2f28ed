#include "runtime/trace/file/track_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace d9d::trace {
namespace {

TEST(TrackOrder, PutsWhatComputesAboveWhatServesIt) {
  const std::vector<std::string> wanted{"steps",           "trainer/0",
                                        "compute stage 2", "compute stage 10",
                                        "compute waits",   "device kernels compute",
                                        "device compute",  "rank_executor/0",
                                        "collective/0",    "loader/0",
                                        "a plugin's"};
  std::vector<std::string> sorted(wanted.rbegin(), wanted.rend());

  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return track_order(a, 0) < track_order(b, 0); });

  EXPECT_EQ(sorted, wanted);
}

TEST(TrackOrder, KeepsTheLanesOfATrackTogether) {
  EXPECT_LT(track_order("loader/0", 0), track_order("loader/0", 1));
  EXPECT_LT(track_order("loader/0", 99), track_order("loader/1", 0));
}

}  // namespace
}  // namespace d9d::trace
