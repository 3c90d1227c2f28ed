#include "runtime/launch/host_cores.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

HostShare share(int launched, int workers = 1) {
  return {.launched = {0, launched}, .worker = {0, workers}};
}

TEST(HostCores, AreThoseThatTheSchedulerBoundTheProcessTo) {
  EXPECT_EQ(cores_of_process(8, 64, share(4)), 8);
}

TEST(HostCores, AreSharedByProcessesThatAreNotBound) {
  EXPECT_EQ(cores_of_process(64, 64, share(4)), 16);
  EXPECT_EQ(cores_of_process(0, 64, share(1)), 64);
  EXPECT_EQ(cores_of_process(2, 2, share(8)), 1);
}

TEST(HostCores, OfACommandAreSharedByItsProcesses) {
  EXPECT_EQ(cores_of_process(64, 64, share(1, 4)), 16);
  EXPECT_EQ(cores_of_process(8, 64, share(4, 4)), 2) << "what the command is bound to";
  EXPECT_EQ(cores_of_process(2, 2, share(1, 8)), 1);
}

// 16 processors to be seen, a container that may use one; four processes of a pod of eight.
TEST(HostCores, AreNoMoreThanTheContainersQuota) {
  EXPECT_EQ(cores_of_process(16, 16, share(1), 1.0), 1);
  EXPECT_EQ(cores_of_process(2, 2, share(1), 0.2), 1);
  EXPECT_EQ(cores_of_process(64, 64, share(4), 8.0), 2);
  EXPECT_EQ(cores_of_process(8, 64, share(1, 2), 6.5), 3);
  EXPECT_EQ(cores_of_process(8, 64, share(1), 32.0), 8);
}

}  // namespace
}  // namespace d9d
