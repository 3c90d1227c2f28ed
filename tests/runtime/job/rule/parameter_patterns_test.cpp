#include "runtime/job/rule/parameter_patterns.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_job::error_of;
using testing_job::load;

TEST(ParameterPatterns, OfStatisticsMatchAParameterOrAreRefused) {
  EXPECT_EQ(error_of({"trainer.logging={period_steps: 1, statistics: {norms: '*norm*', all: '*'}}"}),
            "no error");
  EXPECT_THAT(
      error_of({"trainer.logging={period_steps: 1, statistics: {norms: '*nrom*', all: '*'}}"}),
      AllOf(HasSubstr("trainer.logging.statistics.norms: \"*nrom*\" matches no parameter of the model"),
            HasSubstr("`*` is any part of a name")));
}

TEST(ParameterPatterns, OfClippedGradientsMatchAParameterOrAreRefused) {
  EXPECT_EQ(error_of({"gradient_hooks=[{name: clip_value, limit: 1}]"}), "no error");
  EXPECT_EQ(error_of({"gradient_hooks=[{name: clip_value, match: '*.q_proj.*', limit: 1}]"}), "no error");
  EXPECT_THAT(error_of({"gradient_hooks=[{name: clip_value, limit: 1}, {name: clip_value, match: "
                        "'*.qproj.*', limit: 1}]"}),
              HasSubstr("gradient_hooks.1.match: \"*.qproj.*\" matches no parameter of the model"));
}

TEST(ParameterPatterns, SeeTheParametersThatTrain) {
  const std::string adapters =
      "model_provider.peft={kind: lora, module_name_pattern: '.*q_proj', params: {r: 4, alpha: 8}}";

  EXPECT_THAT(error_of({adapters, "trainer.logging={period_steps: 1, statistics: {keys: '*k_proj*'}}"}),
              HasSubstr("matches no parameter"));
  const LoadedJob loaded = load({adapters});
  for (const StageParameter& parameter : trainable_parameters(loaded.job, *loaded.model))
    EXPECT_THAT(parameter.name, HasSubstr("lora"));
}

}  // namespace
}  // namespace d9d
