#include "actors/job/process/work_progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class HandClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  std::int64_t wall_ns() const override { return now; }
  std::int64_t now = 0;
};

TEST(WorkProgressBar, ShowsBytesRateAndTimeLeft) {
  std::ostringstream err;
  HandClock clock;
  {
    WorkProgress progress(err, true, clock);
    clock.now = 10'000'000'000;
    progress.update(2'500'000'000, 10'000'000'000);
  }

  EXPECT_THAT(err.str(), AllOf(HasSubstr(" 25 %  2.50GB of 10.0GB  250MB/s  0:30 left"), HasSubstr("[==="),
                               testing::EndsWith("\n")));
}

TEST(WorkProgressBar, SaysNothingOfWhatIsDoneAtOnce) {
  std::ostringstream err;
  HandClock clock;
  {
    WorkProgress progress(err, false, clock);
    clock.now = 1'000'000'000;
    progress.update(5, 10);
    progress.update(10, 10);
  }

  EXPECT_THAT(err.str(), IsEmpty());
}

TEST(WorkProgressBar, IsALineNowAndThenWhereThereIsNoTerminal) {
  std::ostringstream err;
  HandClock clock;
  {
    WorkProgress progress(err, false, clock);
    for (int second = 1; second <= 30; ++second) {
      clock.now = second * 1'000'000'000LL;
      progress.update(static_cast<std::uint64_t>(second) * 1'000'000, 30'000'000);
    }
  }

  const std::string text = err.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_THAT(text, HasSubstr("30.0MB of 30.0MB  1.00MB/s\n"));
}

}  // namespace
}  // namespace d9d
