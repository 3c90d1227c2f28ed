#include "actors/job/cast/resumed_state.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const of_three_ranks = R"({"ranks": {
  "0": {"skipped_steps": 3, "task": null, "metrics": {"a": 0},
        "actors": [{"name": "guard", "state": 1}, {"name": "other", "state": 2}, {"name": "guard", "state": 3}]},
  "1": {"metrics": {"a": 1}},
  "2": {"metrics": {"a": 2}}}})";

TEST(ResumedState, IsEmptyWithoutACheckpoint) {
  const ResumedState none;

  EXPECT_THAT(none.skipped_updates(2), ElementsAre(0, 0));
  EXPECT_TRUE(none.kept("ended").is_null());
  EXPECT_THAT(none.metrics_of(0, 1), IsEmpty());
  EXPECT_FALSE(none.actor("guard", 0));
}

TEST(ResumedState, KnowsWhatRankZeroKept) {
  const ResumedState state(of_three_ranks);

  EXPECT_THAT(state.skipped_updates(1), ElementsAre(3));
  EXPECT_EQ(state.counted("tokens_total"), 0U);
  ASSERT_TRUE(state.find("task")) << "a task may keep null";
  EXPECT_TRUE(state.find("task")->is_null());
  EXPECT_FALSE(state.find("ended"));
}

TEST(ResumedState, KnowsHowOftenEachUpdateOfAStepWasSkipped) {
  const ResumedState state(R"({"ranks": {"0": {"skipped_steps": [2, 0]}}})");

  EXPECT_THAT(state.skipped_updates(2), ElementsAre(2, 0));
  EXPECT_THAT(test::error_of([&] { state.skipped_updates(1); }),
              HasSubstr("task: a step has 1 update and had 2"));
}

TEST(ResumedState, HasTheStateOfEachDataReplicasStream) {
  const ResumedState state(R"({"ranks": {"0": {"stream": {"replica": 1, "state": 5}},
    "1": {"stream": {"replica": 0, "state": 4}}, "2": {"metrics": {}}}})");

  EXPECT_THAT(state.streams(), ElementsAre(4, 5));
  EXPECT_THAT(ResumedState(of_three_ranks).streams(), IsEmpty());
}

TEST(ResumedState, FewerRanksGoOnWithTheMetricsOfAll) {
  const ResumedState state(of_three_ranks);

  EXPECT_THAT(state.metrics_of(0, 2), ElementsAre(R"({"a":0})", R"({"a":2})"));
  EXPECT_THAT(state.metrics_of(1, 2), ElementsAre(R"({"a":1})"));
  EXPECT_THAT(state.metrics_of(3, 4), IsEmpty());
}

TEST(ResumedState, ActorsOfOneNameHaveTheirStatesInOrder) {
  const ResumedState state(of_three_ranks);

  EXPECT_EQ(state.actor("guard", 0), nlohmann::json(1));
  EXPECT_EQ(state.actor("guard", 1), nlohmann::json(3));
  EXPECT_FALSE(state.actor("guard", 2));
}

}  // namespace
}  // namespace d9d
