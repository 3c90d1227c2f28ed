// The page of a real run.
#include <gmock/gmock.h>

#include "tests/runtime/report/well_formed.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string page_of(TinyJob& job, const std::string& run) {
  EXPECT_THAT(job.call({"report", "runs/" + run}), ends_well());
  return text_of_file(job.run_folder(run) / "report.html");
}

TEST(Report, ShowsARunThatWasStartedTwice) {
  TinyJob job;
  const Words changes = mesh(2, 1) + set("trainer.checkpointing.period_steps", "2") +
                        set("trainer.run.description", "a <b>small</b> run");
  ASSERT_THAT(job.run(changes + set("trainer.schedule.total_steps", "8")), ends_well());
  ASSERT_THAT(job.run(changes + set("trainer.schedule.total_steps", "10")), ends_well());

  const std::string page = page_of(job, "tiny");

  EXPECT_EQ(markup_problem(page), "");
  EXPECT_THAT(page,
              ContainsRegex("<b>Finished</b>: 10 of 10 steps, 2560 tokens, [^,]* of training, resumed once "
                            "\\(after step 8\\)"));
  EXPECT_THAT(page, AllOf(HasSubstr("<title>started again after step 8</title>"),
                          HasSubstr("Step 10, the last that the trace has whole"),
                          HasSubstr(">pp 1, rank 1</text>"), HasSubstr("<td>save-10</td>"),
                          HasSubstr("<li>trace-1.json.gz</li>"), HasSubstr("Memory of node 0"),
                          HasSubstr("a &lt;b&gt;small&lt;/b&gt; run"), HasSubstr("pipeline_parallel 2")));
}

TEST(Report, DrawsThePipelineAndTheLossOfARunThatEvaluates) {
  TinyJob job;
  ASSERT_THAT(job.run(mesh(2, 1) + set("evaluation",
                                       "{data: {source: synthetic, sequence_length: 32, vocab_size: 512}, "
                                       "batches: 1, period_steps: last_step}")),
              ends_well());

  const std::string page = page_of(job, "tiny");

  EXPECT_EQ(markup_problem(page), "");
  EXPECT_THAT(page,
              AllOf(HasSubstr("Step 20, the last that the trace has whole"), HasSubstr("evaluation: "),
                    ContainsRegex("class=\"line line-1 dot\""), Not(HasSubstr("evaluation/loss by step"))));
}

TEST(Report, SaysWhyARunFailed) {
  TinyJob job;
  const Outcome failed = job.run(set("optimizer.lr", "1e30") + set("lr_scheduler", "null"));
  ASSERT_EQ(failed.code, 1) << failed.err;

  EXPECT_THAT(page_of(job, "tiny"),
              ContainsRegex("<b>Failed</b>: .*<p class=\"hint\">[^<]*gradient norm is -?(nan|inf)"));
}

}  // namespace
}  // namespace d9d::test
