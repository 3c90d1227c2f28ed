#include "runtime/trace/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

// One step of 100 us: 40 compute, 20 collective of which
// 10 under compute, 5 handling, 15 in a mailbox, 30 idle.
Recording hundred_microseconds() {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 10, 110, 3);
  story.on("trainer", 0).message("begin", 9, 10, 15, 0, 77);
  story.on("stage 0", 0).message("batch_ready", 15, 30, 70, 77);
  story.span(Category::compute, "0F0", 30, 70, 3);
  story.on("collective", 0).span(Category::collective, "reduce", 60, 80, 3);
  story.span(Category::collective, "outside the step", 120, 130, 3);
  return story.tell();
}

TEST(Analysis, SplitsAStepIntoPartsThatAddUp) {
  const Analysis analysis = analyze(hundred_microseconds());

  ASSERT_EQ(analysis.ranks.size(), 1U);
  const TimeSplit& time = analysis.ranks[0].time;
  EXPECT_EQ(time.compute, 40'000);
  EXPECT_EQ(time.exposed_communication, 10'000);
  EXPECT_EQ(time.other, 5'000);
  EXPECT_EQ(time.mailbox_wait, 15'000);
  EXPECT_EQ(time.bubble, 30'000);
  EXPECT_EQ(time.total(), 100'000);
  EXPECT_EQ(analysis.ranks[0].communication, 20'000);
}

TEST(Analysis, GivesTheShareOutsideComputeAndCollectives) {
  const Analysis analysis = analyze(hundred_microseconds());

  EXPECT_DOUBLE_EQ(analysis.outside_compute_and_collectives(), 0.5);
  EXPECT_DOUBLE_EQ(analysis.other_share(), 0.05);
}

TEST(Analysis, CountsAWaitInsideAHandlerAsBubble) {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 10, 1);
  story.on("stage 0", 0).message("activation_ready", 0, 0, 10).span(Category::wait, "recv", 2, 8);

  const TimeSplit time = analyze(story.tell()).ranks.at(0).time;

  EXPECT_EQ(time.bubble, 6'000);
  EXPECT_EQ(time.other, 4'000);
}

TEST(Analysis, HidesNothingBehindAComputationThatStandsStill) {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 20, 1);
  story.on("compute stage 0", 0).span(Category::compute, "0F0", 0, 20);
  story.on("communication lane", 0).span(Category::collective, "gather layer 1", 5, 15);
  story.on("compute waits", 0).span(Category::stall, "wait for layer 1", 12, 15);

  const RankReport rank = analyze(story.tell()).ranks.at(0);

  EXPECT_EQ(rank.time.compute, 17'000);
  EXPECT_EQ(rank.time.exposed_communication, 3'000);
  EXPECT_EQ(rank.communication, 10'000);
}

// 100 us: an action of 60 on the device, which stands still for 10 of them, beside a collective of 40 that ends 10
// after it. What the host does meanwhile, waiting for the device included, counts for nothing.
TEST(Analysis, CountsWhatTheDeviceDidWhereItHasTracks) {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 100, 1);
  story.on("rank_executor/0", 0).message("begin_step", 0, 0, 95);
  story.on("compute stage 0", 0).span(Category::launch, "0F0", 1, 6);
  story.on("gradients 0", 0).span(Category::collective, "all_reduce", 2, 3);
  story.on("device compute", 0)
      .span(Category::compute, "0F0", 10, 70)
      .span(Category::stall, "wait for tp", 50, 60);
  story.on("device communicate", 0).span(Category::collective, "all_reduce tp", 40, 80);
  story.on("steps", 1).span(Category::step, "step", 0, 100, 1);
  story.on("compute stage 1", 1).span(Category::compute, "1F0", 0, 30);

  const Analysis analysis = analyze(story.tell());

  const RankReport& late = analysis.ranks.at(0);
  EXPECT_EQ(late.time.compute, 50'000);
  EXPECT_EQ(late.time.exposed_communication, 20'000);
  EXPECT_EQ(late.time.bubble, 30'000);
  EXPECT_EQ(late.time.other + late.time.mailbox_wait, 0);
  EXPECT_EQ(late.time.total(), 100'000);
  EXPECT_EQ(late.communication, 40'000);
  EXPECT_EQ(analysis.ranks.at(1).time.compute, 30'000) << "a rank without a device";
}

TEST(Analysis, NamesTheSlowestEdgesFirst) {
  Story story;
  story.on("a", 0).span(Category::message, "start", 1, 2);
  story.on("a", 0).message("x", 1, 2, 3, 0, 10);
  story.on("b", 0).message("quick", 3, 4, 5, 10);
  story.on("c", 1).message("slow", 3, 9, 10, 10).message("slow", 3, 11, 12, 10).message("lost", 1, 2, 3, 99);

  const Analysis analysis = analyze(story.tell());

  ASSERT_GE(analysis.edges.size(), 3U);
  EXPECT_EQ(analysis.edges[0].sender, "a@0");
  EXPECT_EQ(analysis.edges[0].receiver, "c@1");
  EXPECT_EQ(analysis.edges[0].message, "slow");
  EXPECT_EQ(analysis.edges[0].count, 2);
  EXPECT_EQ(analysis.edges[0].queue_total, 14'000);
  EXPECT_EQ(analysis.edges[0].queue_max, 8'000);
  EXPECT_EQ(
      std::count_if(analysis.edges.begin(), analysis.edges.end(), [](auto& e) { return e.sender == "?"; }),
      2);
}

TEST(Analysis, LeavesTimersOutOfTheEdges) {
  Story story;
  story.on("a", 0).message("x", 1, 2, 3, 0, 10);
  story.on("a", 0).message("tick", 3, 90, 91, 10);
  story.on("b", 0).message("real", 3, 4, 5, 10);

  const Analysis analysis = analyze(story.tell());

  EXPECT_EQ(std::count_if(analysis.edges.begin(), analysis.edges.end(),
                          [](auto& e) { return e.message == "tick"; }),
            0);
  EXPECT_EQ(std::count_if(analysis.edges.begin(), analysis.edges.end(),
                          [](auto& e) { return e.message == "real"; }),
            1);
}

TEST(Analysis, CountsNestedSpansOfABusyActorOnce) {
  const Analysis analysis = analyze(hundred_microseconds());

  ASSERT_EQ(analysis.actors.size(), 3U);
  EXPECT_EQ(analysis.actors[0].actor, "stage 0@0");
  EXPECT_EQ(analysis.actors[0].busy, 40'000);
  EXPECT_EQ(analysis.actors[0].messages, 1);
}

TEST(Analysis, KnowsTheLongestStep) {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 10, 1).span(Category::step, "step", 10, 40, 2);
  story.on("steps", 1).span(Category::step, "step", 0, 12, 1).span(Category::step, "step", 12, 40, 2);

  const StepReport steps = analyze(story.tell()).steps;

  EXPECT_EQ(steps.count, 2);
  EXPECT_EQ(steps.mean, 20'000);
  EXPECT_EQ(steps.max, 30'000);
  EXPECT_EQ(steps.max_step, 2);
  EXPECT_EQ(steps.max_rank, 0);
}

TEST(Analysis, FindsStepsByTheirActionsWhenNoneWereRecorded) {
  Story story;
  story.on("stage 0", 0).span(Category::compute, "0F0", 0, 4, 1).span(Category::compute, "0F0", 10, 14, 2);

  const Analysis analysis = analyze(story.tell());

  EXPECT_EQ(analysis.steps.count, 2);
  EXPECT_EQ(analysis.ranks.at(0).time.total(), 14'000);
  EXPECT_EQ(analysis.ranks.at(0).time.bubble, 6'000);
}

TEST(Analysis, OfARunThatTrainedNothingHasNoSteps) {
  Story story;
  story.on("trainer/0", 0).message("StartTraining", 1, 2, 3);
  story.on("node/0", -1).message("Welcome", 1, 2, 3);

  const Analysis analysis = analyze(story.tell());

  EXPECT_TRUE(analysis.ranks.empty());
  EXPECT_EQ(analysis.steps.count, 0);
  EXPECT_THAT(to_text(analysis), testing::AllOf(testing::HasSubstr("no training step in the trace"),
                                                testing::Not(testing::HasSubstr("-1"))));
}

TEST(Analysis, OfNothingIsEmptyAndSaysSo) {
  const Analysis analysis = analyze({});

  EXPECT_EQ(analysis.outside_compute_and_collectives(), 0.0);
  EXPECT_THAT(to_text(analysis), testing::HasSubstr("no spans"));
}

TEST(Report, PrintsTheFiguresForPeople) {
  const std::string text = to_text(analyze(hundred_microseconds()));

  EXPECT_THAT(text, testing::HasSubstr("mean 0.100 ms"));
  EXPECT_THAT(text, testing::HasSubstr("40.00 %"));
  EXPECT_THAT(text, testing::HasSubstr("trainer@0 -> stage 0@0: batch_ready"));
  EXPECT_THAT(text, testing::HasSubstr("outside compute and collectives: 50.00 %"));
}

TEST(Report, PrintsTheFiguresForPrograms) {
  Recording recording = hundred_microseconds();
  recording.lost = 4;
  const auto json = nlohmann::json::parse(to_json(analyze(recording)));

  EXPECT_EQ(json.at("ranks").at(0).at("time_ns").at("bubble"), 30'000);
  EXPECT_EQ(json.at("outside_compute_and_collectives"), 0.5);
  EXPECT_EQ(json.at("edges").at(0).at("message"), "batch_ready");
  EXPECT_EQ(json.at("lost_spans"), 4);
}

}  // namespace
}  // namespace d9d::trace
