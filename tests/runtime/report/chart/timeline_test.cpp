#include "runtime/report/chart/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/program_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What a run would have recorded, action by action.
class TracedRun {
 public:
  // Times in milliseconds.
  void action(int step, int rank, const std::string& name, double begin, double end) {
    const Action first = parse_instruction(name).parts.front();
    recording_.spans.push_back({.start_ns = nanoseconds(begin),
                                .end_ns = nanoseconds(end),
                                .actor = track(rank, first.stage),
                                .name = static_cast<std::uint32_t>(recording_.names.size()),
                                .step = step,
                                .stage = static_cast<std::int16_t>(first.stage),
                                .category = trace::Category::compute});
    recording_.names.push_back(name);
  }
  void ended(int step, int rank, double begin, double end) {
    recording_.spans.push_back({.start_ns = nanoseconds(begin),
                                .end_ns = nanoseconds(end),
                                .actor = steps_track(rank),
                                .step = step,
                                .category = trace::Category::step});
  }
  const trace::Recording& recording() {
    std::sort(recording_.spans.begin(), recording_.spans.end(),
              [](const trace::Span& a, const trace::Span& b) { return a.start_ns < b.start_ns; });
    return recording_;
  }

 private:
  static std::int64_t nanoseconds(double ms) { return 1'000'000'000 + static_cast<std::int64_t>(1e6 * ms); }
  std::uint32_t track(int rank, int stage) {
    recording_.actors.push_back({"compute stage " + std::to_string(stage), rank});
    return static_cast<std::uint32_t>(recording_.actors.size() - 1);
  }
  std::uint32_t steps_track(int rank) {
    recording_.actors.push_back({std::string(trace::steps_track), rank});
    return static_cast<std::uint32_t>(recording_.actors.size() - 1);
  }
  trace::Recording recording_;
};

// Two stages, two microbatches, a transfer of 1 ms: F 2,
// B 4; stage 1: F 3, B 5. Rank 0 idles 3 ms at the end.
void add_step(TracedRun& run, int step, int first_rank, double begin) {
  const auto add = [&](int rank, const char* name, double from, double to) {
    run.action(step, first_rank + rank, name, begin + from, begin + to);
  };
  add(0, "0F0", 0, 2);
  add(0, "0F1", 2, 4);
  add(1, "1F0", 3, 6);
  add(1, "1B0", 6, 11);
  add(0, "0B0", 12, 16);
  add(1, "1F1", 11, 14);
  add(1, "1B1", 14, 19);
  add(0, "0B1", 20, 24);
}

TEST(Timeline, MeasuresMakespanBubbleAndMeanCostsOfTheLastWholeStep) {
  TracedRun run;
  add_step(run, 4, 0, 0);
  add_step(run, 5, 0, 100);
  run.action(6, 0, "0F0", 200, 202);

  const MeasuredStep step = measure_step(run.recording(), {});

  EXPECT_EQ(step.step, 5);
  EXPECT_DOUBLE_EQ(step.measured.makespan, 24);
  EXPECT_NEAR(step.measured.bubble, 1 - 28.0 / 48, 1e-12);
  EXPECT_DOUBLE_EQ(step.costs.stages[1].forward, 3);
  EXPECT_DOUBLE_EQ(step.costs.stages[0].backward(), 4);
  EXPECT_EQ(step.costs.transfers, (std::vector<double>{1}));
  EXPECT_DOUBLE_EQ(step.simulated.makespan, 24);
}

TEST(Timeline, TellsWhatARunTookBeyondItsSimulation) {
  TracedRun run;
  add_step(run, 0, 0, 0);
  run.action(1, 0, "0F0", 50, 52);
  run.action(1, 0, "0B0", 55, 57);

  const MeasuredStep step = measure_step(run.recording(), 1);

  EXPECT_DOUBLE_EQ(step.measured.makespan, 7);
  EXPECT_DOUBLE_EQ(step.simulated.makespan, 4);
  EXPECT_THAT(timeline_text(step), HasSubstr("measured makespan 7.000 ms, bubble 42.9 %; simulated"));
  EXPECT_THAT(timeline_text(step), HasSubstr("measured / simulated 1.750"));
}

TEST(Timeline, TakesALaterStepWithFullBackwardsForNoLessWhole) {
  TracedRun run;
  for (const int step : {1, 2}) run.action(step, 0, "0F0", 10 * step, 10 * step + 1);
  run.action(1, 0, "0I0", 11, 12);
  run.action(1, 0, "0W0", 12, 13);
  run.action(2, 0, "0B0", 21, 23);

  EXPECT_EQ(measure_step(run.recording(), {}).step, 2);
}

// Two batches after each step, through the same stages.
TEST(Timeline, LeavesOutTheEvaluationAfterAStep) {
  TracedRun run;
  for (const int step : {1, 2}) {
    const double begin = 100 * step;
    add_step(run, step, 0, begin);
    for (const int rank : {0, 1}) {
      run.ended(step, rank, begin, begin + 30);
      for (const double at : {40, 50})
        run.action(step, rank, rank == 0 ? "0F0" : "1F0", begin + at + 2 * rank, begin + at + 2 + 2 * rank);
    }
  }

  const MeasuredStep step = measure_step(run.recording(), {});

  EXPECT_EQ(step.step, 2);
  EXPECT_DOUBLE_EQ(step.measured.makespan, 24);
  EXPECT_EQ(step.measured.ranks[0].size(), 4U);
}

TEST(Timeline, OfFilesOfTwoStartsSaysSo) {
  TracedRun run;
  add_step(run, 3, 0, 0);
  add_step(run, 3, 0, 1000);

  EXPECT_THAT(
      test::error_of([&] { measure_step(run.recording(), 3); }, ErrorKind::input),
      AllOf(HasSubstr("appears twice"), HasSubstr("files of one start only"), Not(HasSubstr("all nodes"))));
}

TEST(Timeline, TakesOneOfSeveralReplicas) {
  TracedRun run;
  add_step(run, 1, 2, 0);
  add_step(run, 1, 0, 0.5);

  EXPECT_EQ(measure_step(run.recording(), {}).ranks, (std::vector<int>{0, 1}));
}

TEST(Timeline, DrawsBothWithTheTimesOfTheirActions) {
  TracedRun run;
  add_step(run, 7, 0, 0);

  const std::string svg = timeline_svg(measure_step(run.recording(), 7));

  EXPECT_THAT(svg, HasSubstr("step 7, measured"));
  EXPECT_THAT(svg, HasSubstr("in simulation"));
  EXPECT_THAT(svg, HasSubstr("<title>1B1 14 to 19 (5)"));
}

TEST(Timeline, SaysWhyThereIsNone) {
  TracedRun run;
  run.action(3, 0, "0F0", 0, 1);
  run.action(3, 0, "0F1", 1, 2);
  run.action(3, 0, "0B0", 2, 3);
  const auto error_of = [&](std::optional<int> step) -> std::string {
    return test::error_of([&] { measure_step(run.recording(), step); });
  };

  EXPECT_THAT(error_of(8), HasSubstr("no step 8; it has 3 to 3"));
  EXPECT_THAT(error_of({}), HasSubstr("stage 0 microbatch 1 has 0 B and 0 I"));
  EXPECT_THROW(measure_step({}, {}), Error);
}

}  // namespace
}  // namespace d9d
