#include "runtime/trace/why/causes.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

const Span& named(const Recording& recording, std::string_view name, int rank = 0) {
  for (const Span& span : recording.spans) {
    if (recording.names.at(span.name) == name && recording.actors.at(span.actor).rank == rank) return span;
  }
  throw std::runtime_error("no span of this name");
}

// An executor handles `begin` with an action in it, and a collective beside it sends its result back.
Recording one_rank() {
  Story story;
  story.on("executor/0", 0).message("begin", 5, 10, 50, 0, 0);
  story.on("compute stage 0", 0).span(Category::compute, "0F0", 12, 30, 1).sends(7);
  story.on("collective/0", 0).message("reduce", 30, 31, 60, 7);
  story.on("gradients", 0).span(Category::collective, "all_reduce", 32, 48, 1).sends(8);
  story.on("executor/0", 0).message("reduced", 48, 70, 75, 8);
  story.on("communication lane", 0).span(Category::collective, "all_gather", 0, 90, 1);
  return story.tell();
}

TEST(Causes, FindWhoSentAMessageAndWhatAnActorDidBefore) {
  const Recording recording = one_rank();
  const Causes causes(recording);
  const Span& reduced = named(recording, "reduced");

  EXPECT_EQ(causes.sender(named(recording, "reduce")), &named(recording, "0F0"));
  EXPECT_EQ(causes.sender(reduced), &named(recording, "all_reduce"));
  EXPECT_EQ(causes.sender(named(recording, "begin")), nullptr);
  EXPECT_EQ(causes.previous(reduced), &named(recording, "begin"));
  EXPECT_EQ(causes.previous(named(recording, "begin")), nullptr);
  EXPECT_EQ(causes.handled_before(reduced.actor, 70'000), &named(recording, "begin"));
  EXPECT_EQ(causes.handled_before(reduced.actor, 70'001), &reduced);
}

// The compute span lies in a handler of the executor alone; the reduction in those of both actors.
TEST(Causes, WorkBelongsToTheActorWhoseHandlersHoldMostOfIt) {
  Story story;
  story.on("executor/0", 0).message("begin", 0, 10, 50);
  story.on("executor/0", 0).message("end", 0, 60, 65);
  story.on("collective/0", 0).message("reduce", 0, 11, 40);
  story.on("collective/0", 0).message("reduce", 0, 52, 58);
  story.on("gradients", 0).span(Category::collective, "all_reduce", 12, 39, 1);
  story.span(Category::collective, "all_reduce", 53, 57, 1);
  story.on("executor/1", 1).message("begin", 0, 0, 100);
  const Recording recording = story.tell();
  const Causes causes(recording);
  const Span& reduce = named(recording, "reduce");

  EXPECT_EQ(causes.owner(named(recording, "all_reduce")), reduce.actor);
  EXPECT_EQ(causes.work_in(reduce).size(), 1U);
  EXPECT_TRUE(causes.work_in(named(recording, "begin")).empty());
}

TEST(Causes, AThreadWithoutAnActorHasNoOwner) {
  const Recording recording = one_rank();
  const Causes causes(recording);

  EXPECT_FALSE(causes.owner(named(recording, "all_gather")));
  EXPECT_EQ(causes.computing_actor(0), named(recording, "begin").actor);
  EXPECT_FALSE(causes.computing_actor(1));
}

TEST(Causes, TheLatestRankOfACollectiveIsTheOneThatCameLast) {
  Story story;
  for (const auto& [rank, from] : {std::pair{0, 100}, std::pair{1, 400}, std::pair{2, 900}})
    story.on("gradients", rank).span(Category::collective, "all_reduce", from, 1000 + rank, 1).of_bytes(64);
  // Others that reduce the same amount at the same time, but leave on their own, and another step.
  story.on("gradients", 3).span(Category::collective, "all_reduce", 950, 5000, 1).of_bytes(64);
  story.on("gradients", 4).span(Category::collective, "all_reduce", 960, 1000, 2).of_bytes(64);
  story.on("compute waits", 0).span(Category::stall, "all_gather", 2000, 2500, 1);
  story.on("communication lane", 0).span(Category::collective, "all_gather", 1900, 2499, 1);
  story.on("communication lane", 1).span(Category::collective, "all_gather", 2300, 2499, 1);
  const Recording recording = story.tell();
  const Causes causes(recording);

  EXPECT_EQ(causes.latest_peer(named(recording, "all_reduce", 0)), &named(recording, "all_reduce", 2));
  EXPECT_EQ(causes.latest_peer(named(recording, "all_reduce", 2)), nullptr);
  const Span& stall = recording.spans.at(6);
  ASSERT_EQ(stall.category, Category::stall);
  EXPECT_EQ(causes.latest_peer(stall), &named(recording, "all_gather", 1));
}

}  // namespace
}  // namespace d9d::trace
