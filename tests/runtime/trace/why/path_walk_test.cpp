// The walk over devices; that over hosts has critical_path_test.cpp.
#include <gmock/gmock.h>

#include "runtime/trace/why/critical_path.hpp"
#include "tests/runtime/trace/story.hpp"
#include "tests/runtime/trace/why/path_text.hpp"

namespace d9d::trace {
namespace {

using testing::ElementsAre;

// Two ranks of a pipeline with late devices: rank 1's action needs what rank 0's computes, and stands still inside for
// a sum with rank 0, which comes to it late. Both hosts give all work at once and wait.
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
  story.on("executor/1", 1).message("activation_ready", 4, 5, 8, 11);
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

TEST(PathWalk, GoesOverDevicesWhereHostsOnlyGiveWork) {
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
                          "compute 1 device compute 1F0 50", "idle 1 device compute  9",
                          "message 1 trainer/1 computed 3", "handling 1 trainer/1 computed 8"));
}

TEST(PathWalk, GoesFromACopyToTheRankThatComputedIt) {
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

}  // namespace
}  // namespace d9d::trace
