#include "runtime/resume/held_out_rows.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JobConfig job_of(const std::string& data, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"data={source: megatron, prefix: x, sequence_length: 8" + data + "}",
                                     "evaluation={data: {source: megatron, prefix: y, sequence_length: 8}, "
                                     "period_steps: 1}"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing_job::load(overrides).job;
}

std::string told(const JobConfig& then, const JobConfig& now, std::uint64_t steps = 9) {
  return told_held_out(differences_since(resolved_keys(then), now), now, steps);
}

TEST(HeldOutRows, AreToldWhenTheRunDidNotHoldThemOutBefore) {
  EXPECT_THAT(
      told(job_of(""), job_of(", validation: {samples: 4}")),
      AllOf(HasSubstr("data.validation: other rows are held out now (data.validation has changed)"),
            HasSubstr("the 9 steps"), HasSubstr("--fresh")));
  EXPECT_EQ(told(job_of(""), job_of(", validation: {samples: 4}"), 0), "");
}

TEST(HeldOutRows, AreToldWhenAnotherKeyDrawsOthers) {
  const std::string held = ", validation: {samples: 4}";
  EXPECT_THAT(told(job_of(held), job_of(", validation: {samples: 5}")),
              HasSubstr("data.validation.samples has"));
  EXPECT_THAT(told(job_of(held + ", seed: 1"), job_of(held + ", seed: 2")),
              HasSubstr("data.seed has changed"));
  const std::vector<std::string> other_seed{"trainer.determinism.base_seed=7"};
  EXPECT_THAT(told(job_of(held), job_of(held, other_seed)), HasSubstr("base_seed has changed"));
  EXPECT_EQ(told(job_of(held + ", seed: 1"), job_of(held + ", seed: 1", other_seed)), "");
}

TEST(HeldOutRows, AreNotToldWhereTheyStayOrNoneAre) {
  const std::string held = ", validation: {samples: 4}";
  EXPECT_EQ(told(job_of(held), job_of(held, {"optimizer.lr=0.5"})), "");
  EXPECT_EQ(told(job_of(held), job_of("")), "");
}

TEST(HeldOutRows, OfAPartOfAMixtureAreToldWithItsPath) {
  const auto mixture = [](const std::string& more) {
    return testing_job::load(
               {"data={source: mixture, parts: [{weight: 1, source: megatron, prefix: x, "
                "sequence_length: 8}, {weight: 1, source: megatron, prefix: z, sequence_length: 8" +
                    more + "}]}",
                "evaluation={data: {source: megatron, prefix: y, sequence_length: 8}, "
                "period_steps: 1}"})
        .job;
  };
  EXPECT_THAT(told(mixture(""), mixture(", validation: {fraction: 0.5}")),
              HasSubstr("data.parts.1.validation: other rows"));
}

}  // namespace
}  // namespace d9d
