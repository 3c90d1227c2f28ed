#include "actors/notes/stop_report.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace d9d {
namespace {

TEST(StopReport, SaysFromWhereTheJobGoesOn) {
  EXPECT_EQ(report_of_stop({SIGTERM, 17, "save-17", ""}),
            "stopped by SIGTERM after step 17; start the job again to go on from save-17");
  EXPECT_EQ(report_of_stop({SIGINT, 3, "", ""}),
            "stopped by SIGINT after step 3; there is no checkpoint to go on from");
  EXPECT_EQ(report_of_stop({SIGTERM, 17, "save-10", "step 17: no space left"}),
            "stopped by SIGTERM after step 17; its checkpoint could not be written (step 17: no space left); "
            "start the job again to go on from save-10");
}

}  // namespace
}  // namespace d9d
