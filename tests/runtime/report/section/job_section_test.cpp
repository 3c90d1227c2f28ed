#include "runtime/report/section/job_section.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using config::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(JobYaml, LeavesOutKeysWithoutAValueAndQuotesWhatNeedsIt) {
  const Json job{{"name", "tiny"},
                 {"from", nullptr},
                 {"empty", {{"a", nullptr}}},
                 {"eos_token", "<|end|>"},
                 {"token", "12"},
                 {"betas", {0.9, 0.95}},
                 {"phases", {{{"mode", "steps"}, {"curve", {{"type", "linear"}}}}, {{"mode", "rest"}}}}};

  EXPECT_EQ(yaml_of(job),
            "name: tiny\neos_token: \"<|end|>\"\ntoken: \"12\"\nbetas: [0.9, 0.95]\nphases:\n"
            "  - mode: steps\n    curve:\n      type: linear\n  - mode: rest\n");
}

TEST(JobSection, ShowsTheMainChoicesAndAllKeysEscaped) {
  test::RunMaker run;
  auto job = test::job_of("<script>alert(1)</script>", 6);
  job["trainer"]["run"]["description"] = "a & b";
  run.steps(1).started(0, job);

  const std::string html = job_section(run.look());

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html,
              AllOf(HasSubstr("pipeline_parallel 2"), HasSubstr("adamw, learning rate 0.001"),
                    HasSubstr("<summary>optimizer</summary>"), HasSubstr("betas: [0.9, 0.95]"),
                    HasSubstr("a &amp; b"), HasSubstr("&lt;script&gt;alert(1)"), Not(HasSubstr("<script>"))));
}

TEST(JobSection, SaysWhereTheKeysWouldBe) {
  test::RunMaker run;

  EXPECT_THAT(job_section(run.steps(1).look()), HasSubstr("The job&#39;s keys are not known"));
}

}  // namespace
}  // namespace d9d::report
