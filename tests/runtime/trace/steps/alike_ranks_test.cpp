#include "runtime/trace/steps/alike_ranks.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

// Two stages, two replicas; each rank has two collectives.
Recording four_ranks() {
  Story story;
  for (const int rank : {0, 1, 2, 3}) {
    story.on("loader/" + std::to_string(rank), rank).message("load", 0, 1, 2);
    story.on("compute stage", rank).span(Category::compute, "F", 0, 1, 1).at(rank / 2, 0);
    for (int i = 0; i < 2; ++i)
      story.on("collective/" + std::to_string(rank) + "." + std::to_string(i), rank)
          .span(Category::collective, "sum", 1, 2, 1);
  }
  story.on("tracker/0", -1).message("step_finished", 0, 1, 2);
  return story.tell();
}

TEST(AlikeRanks, HaveTheSameStages) {
  const AlikeRanks alike(four_ranks());

  EXPECT_EQ(alike.first(0), 0);
  EXPECT_EQ(alike.first(1), 0);
  EXPECT_EQ(alike.first(3), 2);
  EXPECT_EQ(alike.first(-1), -1);
  EXPECT_EQ(alike.first(9), 9);
}

TEST(AlikeRanks, KnowTheSameActorOfEach) {
  const AlikeRanks alike(four_ranks());

  EXPECT_EQ(alike.part(0, "collective/0.0"), alike.part(1, "collective/1.0"));
  EXPECT_EQ(alike.part(0, "collective/0.1"), alike.part(1, "collective/1.1"));
  EXPECT_NE(alike.part(0, "collective/0.0"), alike.part(1, "collective/1.1"));
  EXPECT_EQ(alike.part(0, "loader/0"), alike.part(3, "loader/3"));
  EXPECT_EQ(alike.part(0, "compute stage"), "compute stage");
  EXPECT_EQ(alike.part(-1, "tracker/0"), "tracker/0");
}

}  // namespace
}  // namespace d9d::trace
