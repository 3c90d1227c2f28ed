#include "runtime/trace/why/critical_path.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/trace/two_ranks.hpp"
#include "tests/runtime/trace/why/path_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CriticalPath, GoesThroughTheRankThatCameLastToACollective) {
  Story story;
  const Recording recording = add_step(story, 3, 1000, 300).tell();

  const CriticalPath path = CriticalPathFinder(recording).find(3);

  EXPECT_EQ(path.rank, 0);
  expect_whole(path);
  EXPECT_THAT(texts(path),
              ElementsAre("handling 1 trainer/1 go 4", "message 1 executor/1 begin_step 4",
                          "handling 1 executor/1 begin_step 2", "compute 1 compute stage 0 0F0 299",
                          "message 1 collective/1 reduce 2", "handling 1 collective/1 reduce 1",
                          "communication 0 gradients all_reduce 20", "message 0 trainer/0 reduced 3",
                          "handling 0 trainer/0 reduced 4"));
}

TEST(CriticalPath, AnActorThatWasBusyIsTheCauseAndNotTheMessageThatWaited) {
  Story story;
  story.on("trainer/0", 0).message("go", 0, 0, 10, 0, 1);
  story.on("executor/0", 0).message("snapshot", 0, 2, 90);
  story.on("executor/0", 0).message("begin_step", 9, 92, 120, 1, 2);
  story.on("trainer/0", 0).message("computed", 119, 125, 130, 2);
  story.on("steps", 0).span(Category::step, "step", 0, 130, 1);
  const Recording recording = story.tell();

  const CriticalPath path = CriticalPathFinder(recording).find(1);

  expect_whole(path);
  EXPECT_THAT(texts(path),
              ElementsAre("idle 0 executor/0  2", "handling 0 executor/0 snapshot 88",
                          "message 0 executor/0 begin_step 2", "handling 0 executor/0 begin_step 27",
                          "message 0 trainer/0 computed 6", "handling 0 trainer/0 computed 5"));
}

TEST(CriticalPath, TheInnermostWorkCountsAndATimerIsIdleness) {
  Story story;
  story.on("executor/0", 0).message("first", 0, 0, 10);
  story.on("executor/0", 0).message("tick", 0, 40, 100);
  story.on("compute stage 0", 0).span(Category::compute, "0F0", 45, 95, 1);
  story.on("compute waits", 0).span(Category::stall, "all_gather", 60, 70, 1);
  story.on("steps", 0).span(Category::step, "step", 5, 100, 1);
  const Recording recording = story.tell();

  const CriticalPath path = CriticalPathFinder(recording).find(1);

  expect_whole(path);
  EXPECT_THAT(texts(path), ElementsAre("handling 0 executor/0 first 5", "idle 0 executor/0 before tick 30",
                                       "handling 0 executor/0 tick 5", "compute 0 compute stage 0 0F0 15",
                                       "stall 0 compute waits all_gather 10",
                                       "compute 0 compute stage 0 0F0 25", "handling 0 executor/0 tick 5"));
}

TEST(CriticalPath, TimesThatContradictEachOtherEndTheWalk) {
  Story story;
  // Each was sent after it was handled, by the other one.
  story.on("a/0", 0).message("ping", 30, 20, 40, 2, 1);
  story.on("b/0", 0).message("pong", 35, 25, 45, 1, 2);
  story.on("steps", 0).span(Category::step, "step", 0, 45, 1);
  const Recording recording = story.tell();

  expect_whole(CriticalPathFinder(recording).find(1));
}

TEST(CriticalPath, KnowsWhichStepsAreWhole) {
  Story story;
  add_step(add_step(story, 3, 1000, 100), 4, 2000, 100);
  story.on("steps", 0).span(Category::step, "step", 3000, 4000, 5);
  const Recording recording = story.tell();

  EXPECT_THAT(whole_steps(recording), ElementsAre(3, 4));
  EXPECT_THAT(test::error_of([&] { CriticalPathFinder(recording).find(9); }, ErrorKind::input),
              HasSubstr("no span of step 9"));
}

}  // namespace
}  // namespace d9d::trace
