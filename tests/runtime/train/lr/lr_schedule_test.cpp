#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>

#include "runtime/base/config/parse.hpp"
#include "runtime/base/error.hpp"
#include "runtime/train/lr/lr_config.hpp"
#include "runtime/train/lr/lr_schedule.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& run) {
  return test::error_of([&] { run(); }, ErrorKind::input);
}

TEST(Lr, LinearGoesStraight) {
  EXPECT_DOUBLE_EQ(interpolate(LinearCurve{}, 1.0, 3.0, 0.25), 1.5);
}

TEST(Lr, CosineIsHalfAPeriod) {
  EXPECT_DOUBLE_EQ(interpolate(CosineCurve{}, 1.0, 0.0, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(interpolate(CosineCurve{}, 1.0, 0.0, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(interpolate(CosineCurve{}, 0.0, 2.0, 1.0 / 3.0), 0.5);
}

TEST(Lr, PolyRaisesTheProgress) {
  EXPECT_DOUBLE_EQ(interpolate(PolyCurve{}, 1.0, 5.0, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(interpolate(PolyCurve{3.0}, 0.0, 8.0, 0.5), 1.0);
}

TEST(Lr, ExponentialIsLinearInLogarithmsAndClampsZero) {
  EXPECT_NEAR(interpolate(ExponentialCurve{}, 1.0, 0.01, 0.5), 0.1, 1e-15);
  EXPECT_NEAR(interpolate(ExponentialCurve{}, 0.0, 1.0, 0.0), 1e-8, 1e-20);
  EXPECT_NEAR(interpolate(ExponentialCurve{}, 0.0, 1.0, 0.5), 1e-4, 1e-15);
}

TEST(Lr, ReachesTheEndValueAtTheFirstStepOfTheNextPhase) {
  const PiecewiseLr lr({{2, 4, 0.0, 1.0, LinearCurve{}}, {4, 6, 1.0, 0.0, LinearCurve{}}});

  EXPECT_DOUBLE_EQ(lr.multiplier(0), 0.0);  // before the first phase its start value
  EXPECT_DOUBLE_EQ(lr.multiplier(2), 0.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(3), 0.5);
  EXPECT_DOUBLE_EQ(lr.multiplier(4), 1.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(5), 0.5);
  EXPECT_DOUBLE_EQ(lr.multiplier(6), 0.0);  // after the last phase its end value
  EXPECT_DOUBLE_EQ(lr.multiplier(600), 0.0);
}

TEST(Lr, RefusesAScheduleWithoutPhases) {
  EXPECT_THAT(error_of([] { PiecewiseLr({}); }), HasSubstr("without phases"));
  EXPECT_THAT(error_of([] { PiecewiseLrBuilder(1.0).build(); }), HasSubstr("without phases"));
}

TEST(LrBuilder, StartsEachPhaseAtTheTargetOfTheOneBefore) {
  const PiecewiseLr lr = PiecewiseLrBuilder(0.0, 100)
                             .for_steps(10, 1.0, LinearCurve{})
                             .until_percentage(0.7, 1.0, LinearCurve{})
                             .fill_rest(0.1, CosineCurve{})
                             .build();

  ASSERT_EQ(lr.phases().size(), 3u);
  EXPECT_EQ(lr.phases()[1].start_step, 10);
  EXPECT_EQ(lr.phases()[1].end_step, 70);
  EXPECT_EQ(lr.phases()[2].end_step, 100);
  EXPECT_DOUBLE_EQ(lr.phases()[2].start_value, 1.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(85), 0.55);
  EXPECT_DOUBLE_EQ(lr.multiplier(100), 0.1);
}

TEST(LrBuilder, RoundsAPercentageDown) {
  const PiecewiseLr lr = PiecewiseLrBuilder(0.0, 7).until_percentage(0.5, 1.0, LinearCurve{}).build();

  EXPECT_EQ(lr.phases()[0].end_step, 3);
}

// 0.29 is a little less than 29 hundredths in binary.
TEST(LrBuilder, TakesAShareAsItIsWritten) {
  const auto end = [](double share, std::int64_t steps) {
    return PiecewiseLrBuilder(0.0, steps)
        .until_percentage(share, 1.0, LinearCurve{})
        .build()
        .phases()[0]
        .end_step;
  };

  for (std::int64_t hundredths = 1; hundredths <= 100; ++hundredths)
    EXPECT_EQ(end(static_cast<double>(hundredths) / 100, 100), hundredths);
  EXPECT_EQ(end(0.007, 1'000'000), 7000);
  EXPECT_EQ(end(0.2899999, 100), 28);
  EXPECT_EQ(end(0.999999, 1000), 999);
}

TEST(LrBuilder, SkipsAPhaseThatRoundsToNoStep) {
  const PiecewiseLr lr = PiecewiseLrBuilder(0.0, 4)
                             .until_percentage(0.1, 1.0, LinearCurve{})
                             .fill_rest(0.0, LinearCurve{})
                             .build();

  EXPECT_DOUBLE_EQ(lr.multiplier(0), 1.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(2), 0.5);
}

TEST(LrBuilder, NamesTheRemedyOfAnImpossiblePhase) {
  const LrCurve curve = LinearCurve{};
  EXPECT_THAT(error_of([&] { PiecewiseLrBuilder(0).until_percentage(0.5, 1, curve); }),
              HasSubstr("set trainer.schedule.total_steps"));
  EXPECT_THAT(error_of([&] { PiecewiseLrBuilder(0).fill_rest(1, curve); }), HasSubstr("total_steps"));
  EXPECT_THAT(error_of([&] { PiecewiseLrBuilder(0, 10).until_percentage(1.5, 1, curve); }),
              HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_of([&] { PiecewiseLrBuilder(0, 10).until_percentage(-0.1, 1, curve); }),
              HasSubstr("from 0 to 1"));
  EXPECT_THAT(
      error_of([&] { PiecewiseLrBuilder(0, 10).for_steps(8, 1, curve).until_percentage(0.5, 1, curve); }),
      HasSubstr("(step 5) begins at step 8"));
  EXPECT_THAT(error_of([&] { PiecewiseLrBuilder(0, 10).for_steps(0, 1, curve); }), HasSubstr("at least 1"));
}

// A trial of a long job sees the begin of its schedule, with the values of the long one.
TEST(LrBuilder, CutsAPhaseThatIsLongerThanTheJob) {
  const PiecewiseLr lr = PiecewiseLrBuilder(0.0, 20)
                             .for_steps(50, 1.0, LinearCurve{})
                             .until_percentage(0.9, 1.0, LinearCurve{})
                             .fill_rest(0.1, CosineCurve{})
                             .build();

  ASSERT_EQ(lr.phases().size(), 1u);
  EXPECT_DOUBLE_EQ(lr.multiplier(10), 0.2);
  EXPECT_DOUBLE_EQ(lr.multiplier(19), 0.38);
}

LrSchedulerConfig read_scheduler(const std::string& text) {
  config::Problems problems;
  auto out = config::decode<LrSchedulerConfig>(config::parse(text, "lr.yaml"), problems, "lr_scheduler");
  problems.throw_if_any();
  return out;
}

// The pretraining example of the original: reference 4.1.
TEST(LrConfig, DescribesWarmupHoldAndDecay) {
  const LrSchedulerConfig config =
      read_scheduler(R"({"name": "piecewise", "scheduler": {"initial_multiplier": 0, "phases": [
    {"mode": "percentage", "percentage": 0.1, "target_multiplier": 1.0, "curve": {"type": "linear"}},
    {"mode": "percentage", "percentage": 0.7, "target_multiplier": 1.0, "curve": {"type": "linear"}},
    {"mode": "rest", "target_multiplier": 0.001, "curve": {"type": "cosine"}}]}})");

  const PiecewiseLr lr = build_lr(std::get<PiecewiseLrProvider>(config).scheduler, 1000);

  EXPECT_DOUBLE_EQ(lr.multiplier(0), 0.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(50), 0.5);
  EXPECT_DOUBLE_EQ(lr.multiplier(100), 1.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(699), 1.0);
  EXPECT_DOUBLE_EQ(lr.multiplier(850), 0.001 + 0.999 * (1 + std::cos(M_PI / 2)) / 2);
  EXPECT_DOUBLE_EQ(lr.multiplier(1000), 0.001);
}

TEST(LrConfig, HasTheOriginalsDefaults) {
  const LrSchedulerConfig config = read_scheduler(
      "name: piecewise\nscheduler:\n  initial_multiplier: 1\n  phases:\n"
      "    - {mode: steps, steps: 3, target_multiplier: 0, curve: poly}\n");

  const auto& phase = std::get<PiecewiseLrProvider>(config).scheduler.phases.at(0);
  EXPECT_DOUBLE_EQ(std::get<PolyCurve>(std::get<LrStepsPhase>(phase).curve).power, 2.0);
}

TEST(LrConfig, NamesWhatIsWrong) {
  const std::string head = "name: piecewise\nscheduler:\n  initial_multiplier: 1\n  phases:\n    - ";
  EXPECT_THAT(
      error_of([&] { read_scheduler(head + "{mode: step, target_multiplier: 1, curve: linear}"); }),
      HasSubstr("lr_scheduler.scheduler.phases.0.mode: \"step\" is not known; did you mean \"steps\"?"));
  EXPECT_THAT(
      error_of([&] {
        read_scheduler(head + "{mode: percentage, percentage: 10, target_multiplier: 1, curve: linear}");
      }),
      HasSubstr("percentage: 10 is out of range; give a value 0 to 1"));
  EXPECT_THAT(error_of([&] { read_scheduler(head + "{mode: rest, target_multiplier: 1}"); }),
              HasSubstr("curve: missing"));
  EXPECT_THAT(error_of([&] {
                read_scheduler(head + "{mode: steps, steps: 0, target_multiplier: 1, curve: linear}");
              }),
              HasSubstr("steps: 0 is out of range"));
}

TEST(LrConfig, IsConstantWithoutASection) {
  EXPECT_DOUBLE_EQ(constant_lr().multiplier(0), 1.0);
  EXPECT_DOUBLE_EQ(constant_lr().multiplier(12345), 1.0);
}

}  // namespace
}  // namespace d9d
