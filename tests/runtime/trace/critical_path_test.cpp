#include "runtime/trace/critical_path.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/runtime/trace/two_ranks.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "compute 1 compute stage 0 0F0 300": kind, rank, track, name, microseconds.
std::vector<std::string> texts(const CriticalPath& path) {
  std::vector<std::string> all;
  for (const PathPart& part : path.parts)
    all.push_back(fmt::format("{} {} {} {} {}", name_of(part.kind), part.rank, part.actor, part.what,
                              part.length() / 1000));
  return all;
}

void expect_whole(const CriticalPath& path) {
  ASSERT_FALSE(path.parts.empty());
  EXPECT_EQ(path.parts.front().start_ns, path.start_ns);
  EXPECT_EQ(path.parts.back().end_ns, path.end_ns);
  for (std::size_t i = 1; i < path.parts.size(); ++i)
    EXPECT_EQ(path.parts[i].start_ns, path.parts[i - 1].end_ns) << "a gap before part " << i;
}

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

// Two ranks of a pipeline with late devices: rank 1's action needs what rank 0's computes, and stands still inside for a
// sum with rank 0, which comes to it late. Both hosts give all work at once and wait.
Story& two_devices(Story& story) {
  for (const int rank : {0, 1}) {
    const std::string id = "/" + std::to_string(rank);
    story.on("trainer" + id, rank).message("go", 0, 0, 5).sends(static_cast<std::uint64_t>(1 + rank));
    story.on("executor" + id, rank)
        .message("begin_step", 4, 10, rank == 0 ? 250 : 300, static_cast<std::uint64_t>(1 + rank));
    const std::string stage = "compute stage " + std::to_string(rank);
    story.on(stage, rank)
        .span(Category::launch, std::to_string(rank) + "F0", 12, 30, 1)
        .sends(static_cast<std::uint64_t>(11 + rank))
        .at(rank, 0);
    story.on(stage, rank)
        .span(Category::wait, host_wait, 40, rank == 0 ? 250 : 300, 1)
        .sends(static_cast<std::uint64_t>(21 + rank));
  }
  story.on("device compute", 0).span(Category::compute, "0F0", 20, 100, 1).after(11).at(0, 0);
  story.on("device compute", 1).span(Category::collective, "copy for 1F0", 101, 111, 1).after(12);
  story.on("device compute", 1).span(Category::compute, "1F0", 111, 290, 1).after(12).at(1, 0);
  story.on("device compute", 1).span(Category::stall, "wait for tp", 150, 240, 1);
  story.on("device communicate", 1)
      .span(Category::collective, "all_reduce tp", 150, 240, 1)
      .of_bytes(8)
      .after(12);
  story.on("device compute", 0).span(Category::compute, "0F1", 100, 220, 1).after(11).at(0, 1);
  story.on("device communicate", 0)
      .span(Category::collective, "all_reduce tp", 220, 240, 1)
      .of_bytes(8)
      .after(11);
  story.on("trainer/1", 1).message("computed", 299, 302, 310, 22);
  story.on("steps", 0).span(Category::step, "step", 0, 255, 1);
  story.on("steps", 1).span(Category::step, "step", 0, 310, 1);
  return story;
}

TEST(CriticalPath, GoesOverDevicesWhereHostsOnlyGiveWork) {
  Story story;
  const Recording recording = two_devices(story).tell();

  const CriticalPath path = CriticalPathFinder(recording).find(1);

  EXPECT_EQ(path.rank, 1);
  expect_whole(path);
  // 0F1 made rank 0 late to the sum; rank 0's device began when its host gave 0F0.
  EXPECT_THAT(texts(path),
              ElementsAre("handling 0 trainer/0 go 4", "message 0 executor/0 begin_step 6",
                          "handling 0 executor/0 begin_step 2", "handling 0 compute stage 0 launch of 0F0 8",
                          "compute 0 device compute 0F0 80", "compute 0 device compute 0F1 120",
                          "communication 1 device compute all_reduce tp 20",
                          "compute 1 device compute 1F0 50", "idle 1 device compute  10",
                          "message 1 trainer/1 computed 2", "handling 1 trainer/1 computed 8"));
}

TEST(CriticalPath, GoesFromACopyToTheRankThatComputedIt) {
  Story story;
  two_devices(story);
  // Rank 0 is not late: nothing but what it hands over keeps rank 1.
  Recording recording = story.tell();
  std::erase_if(recording.spans, [&](const Span& span) {
    return span.category == Category::stall || recording.names.at(span.name) == "all_reduce tp";
  });

  const CriticalPath path = CriticalPathFinder(recording).find(1);

  expect_whole(path);
  EXPECT_THAT(texts(path),
              testing::IsSupersetOf(
                  {"compute 0 device compute 0F0 80", "idle 1 device compute before copy for 1F0 1",
                   "communication 1 device compute copy for 1F0 10", "compute 1 device compute 1F0 179"}));
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
