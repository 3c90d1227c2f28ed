#include "runtime/launch/line_relay.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(LineRelay, PassesOnWholeLinesOnly) {
  LineRelay relay("[1] ");

  EXPECT_EQ(relay.add("one\ntw"), "[1] one\n");
  EXPECT_EQ(relay.add("o"), "");
  EXPECT_EQ(relay.add("\n\nthree"), "[1] two\n[1] \n");
  EXPECT_EQ(relay.rest(), "[1] three\n");
  EXPECT_EQ(relay.rest(), "");
}

TEST(LineRelay, CutsALineThatDoesNotEnd) {
  LineRelay relay("");

  EXPECT_EQ(relay.add(std::string(70000, 'x')).size(), 70001U);
}

}  // namespace
}  // namespace d9d
