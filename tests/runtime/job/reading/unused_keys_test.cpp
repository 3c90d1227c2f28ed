#include "runtime/job/reading/unused_keys.hpp"

#include <gmock/gmock.h>

#include "runtime/job/job_difference.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_job::load;

TEST(UnusedKeys, AreTakenWithAWarningAndLeaveTheJobAsItIs) {
  const LoadedJob loaded = load({"trainer.gc.period_steps=10", "trainer.data_loading={pin_memory: true}"});

  EXPECT_THAT(loaded.warnings,
              ElementsAre(HasSubstr("trainer.data_loading.pin_memory: has no effect: where a"),
                          HasSubstr("trainer.gc.period_steps: has no effect: there is no")));
  EXPECT_EQ(resolved_keys(loaded.job), resolved_keys(load().job));
}

TEST(UnusedKeys, HaveTypesAndNeighboursAllTheSame) {
  EXPECT_THAT(testing_job::error_of({"trainer.gc.period_steps=often"}),
              HasSubstr("trainer.gc.period_steps: "));
  EXPECT_THAT(testing_job::error_of({"trainer.profiling={enabled: false, traces_dir: t, period_steps: 9, "
                                     "warmup_steps: -1, active_steps: 1}"}),
              HasSubstr("trainer.profiling.warmup_steps: -1 is out of range; give a value >= 0"));
  EXPECT_THAT(testing_job::error_of({"trainer.gc={period_step: 1}"}),
              HasSubstr("trainer.gc.period_step: unknown key; did you mean \"period_steps\"?"));
}

TEST(UnusedKeys, AreThoseOfTheOriginalsTrackersAlone) {
  const std::string key =
      "trainer.logging={period_steps: 1, tracker: [{capture_terminal_logs: true, provider: ";

  EXPECT_THAT(load({key + "wandb, project: p}]}"}).warnings,
              ElementsAre(HasSubstr("trainer.logging.tracker.0.capture_terminal_logs: has no effect")));
  EXPECT_THAT(load({key + "mine}]}", "plugins=[mine.so]"}).warnings, IsEmpty());
}

// The job that a checkpoint keeps may have been written when these keys had members.
TEST(UnusedKeys, OfAnEarlierJobAreNoDifference) {
  const JobConfig job = load().job;
  config::Json then = resolved_keys(job);
  then["trainer"]["gc"] = {{"period_steps", "disable"}};
  then["trainer"]["data_loading"]["persistent_workers"] = true;

  EXPECT_EQ(told(differences_since(then, job), "now", "then"), "");
}

}  // namespace
}  // namespace d9d
