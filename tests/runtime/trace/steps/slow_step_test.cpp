#include "runtime/trace/steps/slow_step.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/trace/two_ranks.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::trace {
namespace {

using testing::HasSubstr;

// Steps of 189 us, but for step 3, in which rank 1 computes for 400 us and not for 150.
Recording four_steps() {
  Story story;
  for (const int step : {1, 2, 3, 4}) add_step(story, step, 1000 * step, step == 3 ? 400 : 150);
  return story.tell();
}

TEST(SlowStep, IsTheLongestOneBesideTheMedian) {
  const Recording recording = four_steps();

  const SlowStep slow = explain_step(recording, std::nullopt);

  EXPECT_EQ(slow.path.step, 3);
  ASSERT_TRUE(slow.usual);
  EXPECT_NE(slow.usual->step, 3);
  EXPECT_EQ(slow.steps, 4);
  EXPECT_EQ(explain_step(recording, 2).path.step, 2);
}

TEST(SlowStep, NamesFirstWhatTookLonger) {
  const Recording recording = four_steps();

  const SlowStep slow = explain_step(recording, std::nullopt);

  ASSERT_FALSE(slow.shares.empty());
  const PathShare& guilty = slow.shares.front();
  EXPECT_EQ(guilty.kind, PathKind::compute);
  EXPECT_EQ(guilty.rank, 1);
  EXPECT_EQ(guilty.actor, "compute stage 0");
  EXPECT_EQ(guilty.ns - guilty.usual_ns, 250'000);
  std::int64_t sum = 0, usual = 0;
  for (const PathShare& share : slow.shares) sum += share.ns, usual += share.usual_ns;
  EXPECT_EQ(sum, slow.path.length());
  EXPECT_EQ(usual, slow.usual->length());
}

// Two replicas of one stage. The path of steps 1, 2 and 4 goes over rank 0, that of step 3 over rank 1.
TEST(SlowStep, ComparesARankWithThoseThatDoTheSameWork) {
  Story story;
  for (const int step : {1, 2, 3, 4}) add_step(story, step, 1000 * step, step == 3 ? 400 : 90);
  Recording recording = story.tell();
  for (Span& span : recording.spans)
    if (span.category == Category::compute) span.stage = 0;

  const PathShare guilty = explain_step(recording, std::nullopt).shares.front();

  EXPECT_EQ(guilty.kind, PathKind::compute);
  EXPECT_EQ(guilty.rank, 1);
  EXPECT_EQ(guilty.ranks, std::vector<int>{1});
  EXPECT_EQ(guilty.ns, 399'000) << "to the message that its end sends";
  EXPECT_EQ(guilty.usual_ns, 99'000) << "of rank 0, which was the later one";
}

TEST(SlowStep, CountsNoEvaluationAsCompute) {
  Story story;
  for (const int step : {1, 2}) {
    add_step(story, step, 1000 * step, 150);
    story.on("compute stage 0", 0)
        .span(Category::compute, "0F0", 1000 * step + 500, 1000 * step + 900, step)
        .at(0, 0);
  }

  const SlowStep slow = explain_step(story.tell(), std::nullopt);

  ASSERT_EQ(slow.stragglers.size(), 1U);
  EXPECT_EQ(slow.stragglers[0].rank, 1);
}

TEST(SlowStep, CountsInWhichStepsARankComputesLongest) {
  const Recording recording = four_steps();

  const SlowStep slow = explain_step(recording, std::nullopt);

  ASSERT_EQ(slow.stragglers.size(), 1U);
  EXPECT_EQ(slow.stragglers[0].rank, 1);
  EXPECT_EQ(slow.stragglers[0].steps, 4);
  EXPECT_NEAR(slow.stragglers[0].over_median, (3 * 1.5 + 4.0) / 4, 1e-9);
}

TEST(SlowStep, OfATraceWithoutAWholeStepIsRefused) {
  Story story;
  story.on("trainer/0", 0).message("go", 0, 1, 2);
  const Recording recording = story.tell();

  EXPECT_THAT(test::error_of([&] { explain_step(recording, std::nullopt); }, ErrorKind::input),
              HasSubstr("no step that all of its ranks have whole"));
}

}  // namespace
}  // namespace d9d::trace
