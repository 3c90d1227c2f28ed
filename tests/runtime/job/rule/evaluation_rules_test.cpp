#include "runtime/job/rule/evaluation_rules.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing_job::error_of;

std::string evaluation(const std::string& data, const std::string& more = "") {
  return "evaluation={data: {" + data + "}, period_steps: 1" + more + "}";
}

TEST(EvaluationRules, AreThoseOfTrainingsDataUnderAnotherName) {
  EXPECT_THAT(
      error_of({evaluation("source: synthetic, sequence_length: 32, vocab_size: 1024", ", batches: 1")}),
      HasSubstr("evaluation.data.vocab_size: 1024 tokens, but the model's vocabulary has 512"));
  EXPECT_THAT(error_of({evaluation("source: syntetic")}),
              HasSubstr("evaluation.data.source: \"syntetic\" is not known"));
}

TEST(EvaluationRules, WantANumberOfBatchesOfEndlessData) {
  const std::string endless = "source: synthetic, sequence_length: 32, vocab_size: 512";
  EXPECT_THAT(error_of({evaluation(endless)}), HasSubstr("evaluation.batches: missing"));
  EXPECT_EQ(error_of({evaluation(endless, ", batches: 4")}), "no error");
}

TEST(EvaluationRules, TakeTheRowsThatTrainingHoldsOut) {
  const auto data = [](const std::string& more) {
    return "data={source: megatron, prefix: x, sequence_length: 8, shuffle: true, seed: 3" + more + "}";
  };
  const std::string evaluation = "evaluation={period_steps: 1}";
  EXPECT_THAT(error_of({data(""), evaluation}), HasSubstr("evaluation.data: missing"));
  EXPECT_THAT(error_of({data(", validation: {}"), evaluation}),
              HasSubstr("data.validation: expected one of"));
  EXPECT_THAT(error_of({data(", validation: {fraction: 1.0}"), evaluation}),
              HasSubstr("data.validation.fraction"));
  EXPECT_THAT(error_of({data(", max_samples: 4, validation: {samples: 4}"), evaluation}),
              HasSubstr("data.validation.samples: as many as all 4 of max_samples"));
  EXPECT_EQ(error_of({data(", validation: {fraction: 0.1}"), evaluation}), "no error");
}

TEST(EvaluationRules, WarnOfEvaluationsThatNoCheckpointFollowsWhereTheBestIsWanted) {
  const auto warning = [](const std::string& evaluations, const std::string& saves, const std::string& more) {
    std::string text;
    for (const std::string& each :
         testing_job::load(
             {"evaluation={data: {source: synthetic, sequence_length: 32, vocab_size: 512}, batches: 4, "
              "period_steps: " +
                  evaluations + more + "}",
              "trainer.checkpointing.period_steps=" + saves})
             .warnings)
      if (each.find("no checkpoint is written right after") != std::string::npos) text += each;
    return text;
  };

  EXPECT_THAT(warning("2", "3", ", keep_best: true"),
              testing::AllOf(HasSubstr("evaluation.period_steps: 2"),
                             HasSubstr("trainer.checkpointing.period_steps is 3"),
                             HasSubstr("set trainer.checkpointing.period_steps: 2")));
  EXPECT_NE(warning("2", "4", ", keep_best: true"), "");
  EXPECT_THAT(warning("2", "last_step", ", keep_best: true"), HasSubstr("is last_step"));
  EXPECT_EQ(warning("4", "2", ", keep_best: true"), "");
  EXPECT_EQ(warning("last_step", "3", ", keep_best: true"), "");
  EXPECT_EQ(warning("20", "3", ", keep_best: true"), "") << "after the last step both come";
  EXPECT_EQ(warning("2", "3", ""), "") << "nothing asks for the best";
}

TEST(EvaluationRules, WantToKnowWhichWayAMetricIsBetter) {
  const auto job = [](const std::string& more) {
    return error_of(
        {evaluation("source: synthetic, sequence_length: 32, vocab_size: 512", ", batches: 4" + more)});
  };

  for (const char* known : {"loss", "perplexity", "accuracy", "mine/accuracy"})
    EXPECT_EQ(job(std::string(", stop_after: 2, metric: ") + known), "no error") << known;
  EXPECT_THAT(job(", metric: f1"), HasSubstr("evaluation.higher_is_better: missing"));
  EXPECT_EQ(job(", metric: f1, higher_is_better: true"), "no error");
  EXPECT_THAT(job(", higher_is_better: true"),
              HasSubstr("evaluation.higher_is_better: true, but a lower loss"));
  EXPECT_THAT(job(", stop_after: 0"), HasSubstr("evaluation.stop_after"));
  EXPECT_THAT(job(", min_delta: -1"), HasSubstr("evaluation.min_delta"));
}

TEST(EvaluationRules, TakeAHigherAccuracyAndALowerPerplexityForBetter) {
  EXPECT_EQ(higher_is_better({.metric = "accuracy"}), true);
  EXPECT_EQ(higher_is_better({.metric = "perplexity"}), false);
  EXPECT_EQ(higher_is_better({.metric = "accuracy", .higher_is_better = false}), false);
  EXPECT_EQ(higher_is_better({.metric = "mean"}), std::nullopt);
}

}  // namespace
}  // namespace d9d
