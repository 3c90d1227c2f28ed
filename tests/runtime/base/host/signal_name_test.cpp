#include "runtime/base/host/signal_name.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace d9d {
namespace {

TEST(SignalName, IsThatOfTheManualOrANumber) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(signal_name(9999), "signal 9999");
}

}  // namespace
}  // namespace d9d
