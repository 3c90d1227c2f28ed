#include "actors/core/activity.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

constexpr std::int64_t one_second = 1'000'000'000;
constexpr ActorId user_id{Role::user, 0};
constexpr ActorId third_executor_id{Role::rank_executor, 2};

TEST(Activities, WhoHandlesSomethingIsNamedWithItsLabelAndSinceWhen) {
  Activities activities;
  activities.label(user_id, "spike_guard");
  Activity& user = activities.enter(user_id);
  Activity& stage = activities.enter(third_executor_id);
  EXPECT_EQ(activities.busy(0), "");

  const Doing listening(user, "Event", 3 * one_second);
  {
    const Doing computing(stage, "BeginStep", 10 * one_second);
    EXPECT_EQ(activities.busy(15 * one_second),
              "user/0 (spike_guard) in Event since 12 s, rank_executor/2 in BeginStep since 5 s");
  }

  EXPECT_EQ(activities.busy(15 * one_second), "user/0 (spike_guard) in Event since 12 s");
}

TEST(Activities, AThreadKnowsWhatItIsDoing) {
  Activities activities;
  Activity& outer = activities.enter(user_id);
  Activity& inner = activities.enter(third_executor_id);
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
  activities.label(user_id, std::string(500, 'x'));

  EXPECT_EQ(std::string(activities.enter(user_id).name.data()).size(), 95U);
}

TEST(Activities, AFunctionOfUsersCodeIsNamedInsteadOfTheMessage) {
  Activities activities;
  activities.label(user_id, "spike_guard");
  EXPECT_EQ(activities.doing_of(user_id, 0), "user/0 (spike_guard)");
  activities.enter(user_id);  // of its construction
  Activity& user = activities.enter(user_id);
  activities.enter({Role::user, 1});
  const Calling nowhere("state()");

  const Doing starting(user, "its start", 0);
  {
    const Calling call("state()");
    EXPECT_EQ(activities.doing_of(user_id, 20 * one_second), "user/0 (spike_guard) in state() since 20 s");
  }

  EXPECT_EQ(activities.doing_of(user_id, 20 * one_second), "user/0 (spike_guard) in its start since 20 s");
  EXPECT_EQ(activities.doing_of({Role::user, 1}, 20 * one_second), "user/1");
}

}  // namespace
}  // namespace d9d
