#include "runtime/report/section/curves_section.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CurvesSection, DrawsTheNumbersEveryRunHasAndWhatElseVaries) {
  test::RunMaker run;
  run.steps(5);
  std::ofstream(run.folder() / "metrics.jsonl", std::ios::app)
      << "{\"step\":6,\"loss\":3,\"metrics/accuracy\":0.25,\"metrics/"
         "fixed\":1,\"host_memory_bytes\":2147483648}\n"
      << "{\"step\":7,\"loss\":2,\"metrics/accuracy\":0.75,\"metrics/"
         "fixed\":1,\"host_memory_bytes\":3221225472}\n";

  const std::string html = curves_section(run.look());

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr(">Loss <"), HasSubstr(">Gradient norm <"), HasSubstr(">Learning rate<"),
                          HasSubstr(">Throughput <"), HasSubstr(">Expert load: max_over_mean <"),
                          HasSubstr(">Accuracy<"), HasSubstr("first 8, last 2; lowest 2 at step 7")));
  EXPECT_THAT(html, HasSubstr("first 2, last 3; lowest 2 at step 6")) << "memory in GiB";
  EXPECT_THAT(html, AllOf(Not(HasSubstr("Fixed by step")), HasSubstr("<td>Fixed</td><td>metrics/fixed</td>")))
      << "what does not vary is only in the table";
}

TEST(CurvesSection, DrawsAnEvaluationBesideTraining) {
  test::RunMaker run;
  run.steps(5);
  std::ofstream(run.folder() / "metrics.jsonl", std::ios::app)
      << "{\"step\":5,\"evaluation/loss\":4.5,\"evaluation/seconds\":2,\"evaluation/metrics/perplexity\":90,"
         "\"metrics/perplexity\":55}\n";

  const std::string html = curves_section(run.look());

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("training: 8 \u2192 4"), HasSubstr("evaluation: 4.5 throughout"),
                          HasSubstr("data-points=\"[[[1,8],[2,7],[3,6],[4,5],[5,4]],[[5,4.5]]]\""),
                          HasSubstr("<circle class=\"line line-1 dot\"")))
      << "of one evaluation a point";
  EXPECT_THAT(html, AllOf(HasSubstr(">Perplexity<"), HasSubstr("evaluation: 90 throughout"),
                          HasSubstr(">Time of an evaluation, s<"), Not(HasSubstr("evaluation/loss by step")),
                          Not(HasSubstr("evaluation/metrics/perplexity by step"))));
}

TEST(CurvesSection, DrawsNoCountThatIsAlwaysTheSame) {
  test::RunMaker run;
  std::ofstream metrics(run.folder() / "metrics.jsonl");
  for (const int step : {1, 2})
    metrics << "{\"step\":" << step << ",\"metrics/num_tokens\":256,\"evaluation/metrics/num_tokens\":512}\n";
  metrics.close();

  EXPECT_THAT(curves_section(run.look()), Not(HasSubstr("Num tokens by step")));
}

TEST(CurvesSection, OfAnEvaluationAloneNamesItSo) {
  test::RunMaker run;
  std::ofstream(run.folder() / "metrics.jsonl") << "{\"step\":5,\"evaluation/metrics/f1_score\":0.5}\n";

  EXPECT_THAT(curves_section(run.look()), HasSubstr(">F1 score of the evaluation<"));
}

TEST(CurvesSection, GathersTheLayersOfExpertsInOneChart) {
  test::RunMaker run;
  std::ofstream(run.folder() / "metrics.jsonl")
      << "{\"step\":1,\"metrics/expert_load/layer_0/max_over_mean\":1.5,\"metrics/expert_load/layer_1/"
         "max_over_mean\":2}\n";

  const std::string html = curves_section(run.look());

  EXPECT_THAT(html, AllOf(HasSubstr("layer_0: 1.5 throughout"), HasSubstr("layer_1: 2 throughout")));
}

TEST(CurvesSection, SaysWhatIsMissingAndHowItIsSwitchedOn) {
  test::RunMaker none, experts;
  std::filesystem::create_directories(none.folder() / "traces");
  std::ofstream(experts.folder() / "metrics.jsonl") << "{\"step\":1,\"loss\":2}\n";
  auto job = test::job_of("r", 3);
  job["model_provider"]["model"]["num_experts"] = 8;
  experts.started(0, job);

  EXPECT_THAT(curves_section(none.look()), HasSubstr("metrics.jsonl is missing or empty"));
  EXPECT_THAT(curves_section(experts.look()), HasSubstr("trainer.logging.expert_load"));
}

TEST(CurvesSection, MarksWhereTheRunWasResumed) {
  test::RunMaker run;
  run.steps(5).started(0, test::job_of("r", 5)).started(3, test::job_of("r", 5));

  EXPECT_THAT(curves_section(run.look()), HasSubstr("<title>started again after step 3</title>"));
}

}  // namespace
}  // namespace d9d::report
