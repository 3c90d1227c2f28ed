#include "actors/notes/rank_wishes.hpp"

#include <gmock/gmock.h>

#include <csignal>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

TEST(RankWishes, TravelInFrontOfSumsAndAreTakenOffAgain) {
  const RankWishes wishes{.terminates = 1,
                          .interrupts = 2,
                          .hang_ups = 3,
                          .saves = 4,
                          .sleeps = 5,
                          .roll_back = 6,
                          .texts = 7,
                          .ends = 8,
                          .lr_changes = 9,
                          .lr_factor = 10};

  std::vector<double> values = with_wishes(wishes, {0.5, 0.25});
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.5, 0.25));
  const RankWishes back = take_wishes(values);

  EXPECT_THAT(values, ElementsAre(0.5, 0.25));
  EXPECT_EQ(with_wishes(back, {}), with_wishes(wishes, {}));
}

TEST(RankWishes, AreNotReadFromAListThatIsTooShort) {
  std::vector<double> values{1, 2, 3};
  EXPECT_THROW(take_wishes(values), Error);
}

TEST(RankWishes, AreNoneWithoutASignal) {
  std::set<int> signals;

  const RankWishes wishes = take_wishes(signals);

  EXPECT_EQ(stop_signal_of(wishes), 0);
  EXPECT_EQ(with_wishes(wishes, {}), with_wishes({}, {}));
}

TEST(RankWishes, ToStopAreToldWithEveryStep) {
  std::set<int> signals{SIGINT};

  EXPECT_EQ(take_wishes(signals).interrupts, 1);
  EXPECT_EQ(take_wishes(signals).interrupts, 1);
}

TEST(RankWishes, ToSaveAndToSleepAreToldOnce) {
  std::set<int> signals{SIGUSR1, SIGTSTP};

  const RankWishes first = take_wishes(signals), second = take_wishes(signals);

  EXPECT_EQ(first.saves + first.sleeps, 2);
  EXPECT_EQ(second.saves + second.sleeps, 0);
}

TEST(RankWishes, OfSeveralSignalsAllRanksTakeTheSame) {
  EXPECT_EQ(stop_signal_of({.terminates = 1, .interrupts = 3, .hang_ups = 1}), SIGTERM);
  EXPECT_EQ(stop_signal_of({.interrupts = 1, .hang_ups = 2}), SIGINT);
  EXPECT_EQ(stop_signal_of({.hang_ups = 1, .saves = 2}), SIGHUP);
}

}  // namespace
}  // namespace d9d
