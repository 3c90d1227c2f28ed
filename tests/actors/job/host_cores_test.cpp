#include "actors/job/host_cores.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(HostCores, AreThoseThatTheSchedulerBoundTheProcessTo) {
  EXPECT_EQ(cores_of_process(8, 64, 4), 8);
}

TEST(HostCores, AreSharedByProcessesThatAreNotBound) {
  EXPECT_EQ(cores_of_process(64, 64, 4), 16);
  EXPECT_EQ(cores_of_process(0, 64, 1), 64);
  EXPECT_EQ(cores_of_process(2, 2, 8), 1);
}

}  // namespace
}  // namespace d9d
