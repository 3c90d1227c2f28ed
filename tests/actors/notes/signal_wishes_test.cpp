#include "actors/notes/signal_wishes.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <vector>

#include "actors/notes/stop_report.hpp"

namespace d9d {
namespace {

// What a collective makes of the wishes of all ranks.
AgreedWishes agreed(const std::vector<SignalWishes*>& ranks) {
  RankWishes summed;
  for (SignalWishes* rank : ranks) rank->add_to(summed);
  return agreed_wishes(summed);
}

TEST(SignalWishes, NobodyAskedForAnything) {
  SignalWishes first, second;

  const AgreedWishes wishes = agreed({&first, &second});

  EXPECT_EQ(wishes.stop_signal, 0);
  EXPECT_FALSE(wishes.save);
}

TEST(SignalWishes, OneRankThatGotASignalStopsAllAndDoesNotForget) {
  SignalWishes first, second;
  second.add(SIGINT);

  EXPECT_EQ(agreed({&first, &second}).stop_signal, SIGINT);
  EXPECT_EQ(agreed({&first, &second}).stop_signal, SIGINT);
}

TEST(SignalWishes, OfTwoSignalsAllRanksTakeTheSame) {
  SignalWishes first, second;
  first.add(SIGINT);
  second.add(SIGTERM);

  EXPECT_EQ(agreed({&first, &second}).stop_signal, SIGTERM);
}

TEST(SignalWishes, AHangUpStopsAllRanks) {
  SignalWishes first, second;
  second.add(SIGHUP);

  EXPECT_EQ(agreed({&first, &second}).stop_signal, SIGHUP);
}

TEST(SignalWishes, OneRequestIsOneCheckpoint) {
  SignalWishes first, second;
  first.add(SIGUSR1);
  second.add(SIGUSR1);

  EXPECT_TRUE(agreed({&first, &second}).save);
  EXPECT_FALSE(agreed({&first, &second}).save);
}

TEST(SignalWishes, OneRequestPutsAllRanksToSleepOnce) {
  SignalWishes first, second;
  second.add(SIGTSTP);

  const AgreedWishes wishes = agreed({&first, &second});

  EXPECT_TRUE(wishes.sleep);
  EXPECT_FALSE(wishes.save);
  EXPECT_EQ(wishes.stop_signal, 0);
  EXPECT_FALSE(agreed({&first, &second}).sleep);
}

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
