#include "runtime/metric/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/runtime/metric/sink/sink_fixture.hpp"

namespace d9d {
namespace {

const ProgressState halfway{.step = 50,
                            .total_steps = 100,
                            .loss = 2.34567,
                            .lr = 3e-4,
                            .grad_norm = 0.8765,
                            .tokens_per_second = 12345,
                            .seconds_left = 75};

TEST(ProgressBar, ShowsHowFarTheJobIsAndItsFigures) {
  EXPECT_EQ(progress_bar(halfway, 107),
            "[==========>         ]  50 %  step 50/100  loss 2.3457  lr 3.00e-04  norm 0.876  12.3k tokens/s "
            " 1:15 left");
}

TEST(ProgressBar, NeverIsWiderThanItsTerminal) {
  for (int columns = 1; columns < 200; ++columns) {
    EXPECT_LE(progress_bar(halfway, columns).size(), static_cast<std::size_t>(columns));
  }
  EXPECT_THAT(progress_bar(halfway, 60), testing::StartsWith("["));
  EXPECT_THAT(progress_bar(halfway, 60), testing::HasSubstr("loss"));
}

TEST(ProgressBar, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_bar({.step = 3}, 80), "step 3");
}

TEST(ProgressBar, DoesNotHideALossThatIsNoNumber) {
  EXPECT_THAT(progress_line({.step = 3, .loss = std::nan("")}), testing::HasSubstr("loss nan"));
}

TEST(ProgressBar, CountsBytesOfACommandInLargeUnits) {
  EXPECT_EQ(
      progress_line(
          {.step = 1'500'000, .total_steps = 4'000'000'000, .bytes_per_second = 2.5e8, .counts_bytes = true}),
      "1.50MB of 4.00GB  250MB/s");
}

TEST(ProgressBar, IsFullAtTheEndAndStaysSoBeyondIt) {
  EXPECT_THAT(progress_bar({.step = 9, .total_steps = 9}, 40), testing::HasSubstr("=] 100 %"));
  EXPECT_THAT(progress_bar({.step = 12, .total_steps = 9}, 40), testing::HasSubstr("=] 100 %"));
}

TEST(ProgressBar, WritesTimesAndLargeNumbersShort) {
  EXPECT_EQ(clock_text(5), "0:05");
  EXPECT_EQ(clock_text(3700), "1:01:40");
  EXPECT_EQ(clock_text(-1), "?");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.9), "1.00k");
  EXPECT_EQ(short_number(1'234'567), "1.23M");
}

TEST(ProgressDisplay, StaysInPlaceOnATerminal) {
  std::ostringstream out;
  StandingClock clock;
  ProgressDisplay display(out, {.is_terminal = true, .columns = 40}, clock);

  display.update({.step = 1, .total_steps = 9});
  clock.now += 50'000'000;
  display.update({.step = 2, .total_steps = 9});
  clock.now += 60'000'000;
  display.update({.step = 3, .total_steps = 9});

  EXPECT_THAT(out.str(), testing::HasSubstr("step 1/9"));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("step 2/9")));
  EXPECT_THAT(out.str(), testing::HasSubstr("\r\x1b[K[=="));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("\n")));
}

TEST(ProgressDisplay, MakesRoomForALineOfTheLogAndComesBack) {
  std::ostringstream out;
  StandingClock clock;
  ProgressDisplay display(out, {.is_terminal = true, .columns = 40}, clock);
  display.update({.step = 1, .total_steps = 9});
  out.str("");

  display.leave_line();
  display.leave_line();
  EXPECT_EQ(out.str(), "\r\x1b[K");
  clock.now += 1'000'000'000;
  display.update({.step = 2, .total_steps = 9});

  EXPECT_THAT(out.str(), testing::HasSubstr("step 2/9"));
}

TEST(ProgressDisplay, PrintsALineNowAndThenElsewhere) {
  std::ostringstream out;
  StandingClock clock;
  ProgressDisplay display(out, {.seconds_between_lines = 10}, clock);

  for (int step = 1; step <= 25; ++step) {
    display.update({.step = step, .total_steps = 25});
    clock.now += 1'000'000'000;
  }
  display.finish();

  EXPECT_EQ(out.str(), "step 1/25\nstep 11/25\nstep 21/25\nstep 25/25\n");
}

TEST(ProgressDisplay, LeavesItsLastStateStanding) {
  std::ostringstream out;
  StandingClock clock;
  ProgressDisplay display(out, {.is_terminal = true, .columns = 40}, clock);
  display.update({.step = 1, .total_steps = 9});
  display.update({.step = 2, .total_steps = 9});

  display.finish();

  EXPECT_THAT(out.str(), testing::EndsWith("step 2/9\n"));
}

}  // namespace
}  // namespace d9d
