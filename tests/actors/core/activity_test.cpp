#include "actors/core/activity.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr ActorId kUser{Role::user, 0};
constexpr ActorId kExecutor{Role::rank_executor, 2};

TEST(Activities, WhoHandlesSomethingIsNamedWithItsLabelAndSinceWhen) {
  Activities activities;
  activities.label(kUser, "spike_guard");
  Activity& user = activities.enter(kUser);
  Activity& stage = activities.enter(kExecutor);
  EXPECT_EQ(activities.busy(0), "");

  const Doing listening(user, "Event", 3 * kSecond);
  {
    const Doing computing(stage, "BeginStep", 10 * kSecond);
    EXPECT_EQ(activities.busy(15 * kSecond),
              "user/0 (spike_guard) in Event since 12 s, rank_executor/2 in BeginStep since 5 s");
  }

  EXPECT_EQ(activities.busy(15 * kSecond), "user/0 (spike_guard) in Event since 12 s");
}

TEST(Activities, AThreadKnowsWhatItIsDoing) {
  Activities activities;
  Activity& outer = activities.enter(kUser);
  Activity& inner = activities.enter(kExecutor);
  EXPECT_EQ(current_activity(), nullptr);

  const Doing first(outer, "Event", 0);
  {
    const Doing second(inner, "BeginStep", 0);
    EXPECT_EQ(current_activity(), &inner);
  }

  EXPECT_EQ(current_activity(), &outer);
}

TEST(Activities, ANameThatIsTooLongIsCutShort) {
  Activities activities;
  activities.label(kUser, std::string(500, 'x'));

  EXPECT_EQ(std::string(activities.enter(kUser).name.data()).size(), 95U);
}

}  // namespace
}  // namespace d9d
