#include "runtime/report/chart/durations.hpp"

#include <gtest/gtest.h>

namespace d9d::report {
namespace {

TEST(Durations, ReadAsPeopleWriteThem) {
  EXPECT_EQ(duration_text(0.0031), "3.1 ms");
  EXPECT_EQ(duration_text(45.23), "45.2 s");
  EXPECT_EQ(duration_text(142), "2 min 22 s");
  EXPECT_EQ(duration_text(3600 + 3 * 60), "1 h 3 min");
  EXPECT_EQ(duration_text(2 * 86400), "2 d");
  EXPECT_EQ(short_duration(0.5123), "0.5 s");
  EXPECT_EQ(short_duration(45.2), "45 s");
  EXPECT_EQ(short_duration(142), "2 min");
  EXPECT_EQ(short_duration(9000), "2.5 h");
  EXPECT_EQ(date_text(0), "1970-01-01 00:00 UTC");
  EXPECT_EQ(date_text(1e300), "?") << "of a damaged file";
}

}  // namespace
}  // namespace d9d::report
