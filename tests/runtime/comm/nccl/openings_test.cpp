#include "runtime/comm/nccl/world.hpp"

#include <gtest/gtest.h>

namespace d9d::nccl {
namespace {

TEST(Openings, TellsWhatOtherRanksWaitFor) {
  Openings openings;
  openings.begin(0, "dp[0,1]");
  openings.begin(1, "tp[0,1]");
  openings.begin(1, "pp[1,2]");

  openings.end(1, "tp[0,1]");

  EXPECT_EQ(openings.others(0), "; rank 1 waits to open pp[1,2]");
  EXPECT_EQ(openings.others(1), "; rank 0 waits to open dp[0,1]");
}

}  // namespace
}  // namespace d9d::nccl
