#include "runtime/job/step_phases.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;
using enum PhaseKind;

std::string refusal(std::vector<StepPhase> phases) {
  return test::error_of([&] { StepPhases{std::move(phases)}; });
}

TEST(StepPhases, AreOneThatTrainsUnlessATaskSaysOtherwise) {
  for (const StepPhases& plain : {StepPhases(), StepPhases(std::vector<StepPhase>{})}) {
    EXPECT_TRUE(plain.is_plain());
    EXPECT_EQ(plain.num_forward(), 0);
    EXPECT_EQ(plain.num_batches(), 1);
  }
}

TEST(StepPhases, CountTheirBatchesAndThoseThatAreForwardAlone) {
  const StepPhases phases({{"look", forward, 1}, {"a", train, 0}, {"b", train, 1}});

  EXPECT_EQ(phases.size(), 3);
  EXPECT_EQ(phases.num_forward(), 1);
  EXPECT_EQ(phases.first_training(), 1);
  EXPECT_EQ(phases.num_batches(), 2);
  EXPECT_EQ(phases[2].name, "b");
}

TEST(StepPhases, RefuseWhatHasNoMeaning) {
  EXPECT_THAT(refusal({{"a", train, 0}, {"", train, 0}}), HasSubstr("has no name"));
  EXPECT_THAT(refusal({{"a", train, 0}, {"a", train, 0}}),
              HasSubstr("two phases of the task's step have the name \"a\""));
  EXPECT_THAT(refusal({{"a", forward, 0}}), HasSubstr("no phase that trains"));
  EXPECT_THAT(refusal({{"a", train, 0}, {"b", forward, 0}}),
              HasSubstr("\"b\" of the task's step comes behind"));
  EXPECT_THAT(refusal({{"a", train, 0}, {"b", train, 2}}), HasSubstr("batches up to 2, but only 2 of them"));
  EXPECT_THAT(refusal({{"a", train, 1}}), HasSubstr("number them 0, 1"));
}

}  // namespace
}  // namespace d9d
