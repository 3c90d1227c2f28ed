#include "runtime/train/lr/warmup_schedules.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/train/lr/lr_config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

LrSchedulerConfig read(const std::string& text) {
  config::Problems problems;
  auto out = config::decode<LrSchedulerConfig>(config::parse(text, "lr.yaml"), problems, "lr_scheduler");
  problems.throw_if_any();
  return out;
}

PiecewiseLr made(const std::string& text, std::int64_t steps) {
  return build_lr(as_phases(read(text), steps), steps);
}

std::string error_of(const std::string& text, std::optional<std::int64_t> steps) {
  return test::error_of([&] { as_phases(read(text), steps); }, ErrorKind::input);
}

TEST(LrShortForms, WarmUpAndThenFollowTheirCurve) {
  const PiecewiseLr lr = made("{name: cosine, warmup_steps: 10, min_ratio: 0.2}", 30);

  EXPECT_DOUBLE_EQ(lr.multiplier(0), 0);
  EXPECT_DOUBLE_EQ(lr.multiplier(5), 0.5);
  EXPECT_DOUBLE_EQ(lr.multiplier(10), 1);
  EXPECT_DOUBLE_EQ(lr.multiplier(20), 0.6);  // half of the way from 1 to 0.2
  EXPECT_DOUBLE_EQ(lr.multiplier(30), 0.2);
}

TEST(LrShortForms, MayBeANameAlone) {
  EXPECT_DOUBLE_EQ(made("constant", 10).multiplier(9), 1);
  EXPECT_DOUBLE_EQ(made("linear", 10).multiplier(4), 0.6);
  EXPECT_DOUBLE_EQ(made("cosine", 10).multiplier(5), 0.5);
  EXPECT_DOUBLE_EQ(made("wsd", 20).multiplier(18), 1);
  EXPECT_DOUBLE_EQ(made("wsd", 20).multiplier(19), 0.5);
}

// 0.07 of 100 is 7.000000000000001 in binary.
TEST(LrShortForms, RoundAShareOfTheStepsUpAsItIsWritten) {
  EXPECT_EQ(made("{name: linear, warmup_ratio: 0.07}", 100).phases()[0].end_step, 7);
  EXPECT_EQ(made("{name: linear, warmup_ratio: 0.071}", 100).phases()[0].end_step, 8);
  EXPECT_EQ(made("{name: linear, warmup_ratio: 0}", 100).phases().size(), 1U);
}

TEST(LrShortForms, KeepTheirWarmUpInAShorterTrial) {
  const PiecewiseLr lr = made("{name: cosine, warmup_steps: 50}", 20);

  EXPECT_DOUBLE_EQ(lr.multiplier(19), 0.38);
}

// Nothing is left for the curve; others divide by it.
TEST(LrShortForms, MayWarmUpToTheEnd) {
  for (const char* name : {"cosine", "linear", "constant", "wsd"}) {
    const PiecewiseLr lr = made(std::string("{name: ") + name + ", warmup_steps: 20}", 20);

    EXPECT_DOUBLE_EQ(lr.multiplier(19), 0.95) << name;
  }
}

// Warm-up 10, then 5 steps at 1, then 5 steps down.
TEST(LrShortForms, HoldUntilTheDecayBegins) {
  const PiecewiseLr lr = made("{name: wsd, warmup_steps: 10, decay_steps: 5, curve: linear}", 20);

  EXPECT_DOUBLE_EQ(lr.multiplier(14), 1);
  EXPECT_DOUBLE_EQ(lr.multiplier(15), 1);
  EXPECT_DOUBLE_EQ(lr.multiplier(16), 0.8);
}

TEST(LrShortForms, SayWhatIsMissingOrTwice) {
  EXPECT_EQ(error_of("{name: wsd, decay_steps: 5, decay_ratio: 0.1}", 20),
            "decay_steps and decay_ratio say the same; give one of them");
  EXPECT_THAT(error_of("{name: cosine, warmup_ratio: 0.1}", std::nullopt),
              HasSubstr("set trainer.schedule.total_steps, or give warmup_steps"));
  EXPECT_THAT(error_of("{name: cosine, num_cycles: 2}", 20), HasSubstr("num_cycles: unknown key"));
  EXPECT_THAT(error_of("{name: linear, min_ratio: 2}", 20), HasSubstr("give a value 0 to 1"));
}

}  // namespace
}  // namespace d9d
