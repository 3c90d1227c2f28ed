#include "runtime/report/verdict.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/run_maker.hpp"

namespace d9d::report {
namespace {

using testing::HasSubstr;

TEST(Verdict, SaysStepsTokensTimeAndResumes) {
  test::RunMaker run;
  run.steps(6).started(0, test::job_of("r", 6)).ended(RunOutcome::stopped, "SIGTERM");
  run.started(4, test::job_of("r", 6)).ended(RunOutcome::finished, "done");

  const Verdict verdict = verdict_of(run.look());

  EXPECT_EQ(verdict.fate, Fate::finished);
  EXPECT_EQ(verdict.word, "Finished");
  EXPECT_EQ(verdict.detail, "6 of 6 steps, 6000 tokens, 3.0 s of training, resumed once (after step 4)");
  EXPECT_EQ(verdict.reason, "");
}

TEST(Verdict, SaysWhyARunFailedOrWasStopped) {
  test::RunMaker failed, stopped;
  failed.steps(2).started(0, test::job_of("r", 6)).ended(RunOutcome::failed, "rank 1: no memory");
  stopped.steps(2)
      .started(0, test::job_of("r", 6))
      .ended(RunOutcome::stopped, "stopped by SIGTERM after step 2");

  EXPECT_EQ(verdict_of(failed.look()).word, "Failed");
  EXPECT_EQ(verdict_of(failed.look()).reason, "rank 1: no memory");
  EXPECT_EQ(verdict_of(stopped.look()).fate, Fate::stopped);
  EXPECT_THAT(verdict_of(stopped.look()).detail, HasSubstr("2 of 6 steps"));
}

TEST(Verdict, DoesNotClaimWhatNothingTells) {
  test::RunMaker killed, earlier;
  killed.steps(2).started(0, test::job_of("r", 6));
  earlier.steps(2);

  EXPECT_EQ(verdict_of(killed.look()).fate, Fate::ended);
  EXPECT_THAT(verdict_of(killed.look()).reason, HasSubstr("it was killed"));
  EXPECT_EQ(verdict_of(earlier.look()).fate, Fate::ended);
  EXPECT_THAT(verdict_of(earlier.look()).reason, HasSubstr("no run.jsonl"));
  EXPECT_THAT(verdict_of(earlier.look()).detail, testing::StartsWith("2 steps, "));
}

}  // namespace
}  // namespace d9d::report
