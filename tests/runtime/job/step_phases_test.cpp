#include "runtime/job/step_phases.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum PhaseKind;

std::string refusal(std::vector<StepPhase> phases, std::vector<StepUpdate> updates = {}) {
  return test::error_of([&] { StepPhases{std::move(phases), std::move(updates)}; });
}

TEST(StepPhases, AreOneThatTrainsUnlessATaskSaysOtherwise) {
  for (const StepPhases& plain : {StepPhases(), StepPhases(std::vector<StepPhase>{})}) {
    EXPECT_TRUE(plain.is_plain());
    EXPECT_EQ(plain.num_forward(0), 0);
    EXPECT_EQ(plain.num_updates(), 1);
    EXPECT_EQ(plain.num_batches(), 1);
  }
}

TEST(StepPhases, CountTheirBatchesAndThoseThatAreForwardAlone) {
  const StepPhases phases({{"look", forward, 1}, {"a", train, 0}, {"b", train, 1}});

  EXPECT_EQ(phases.size(), 3);
  EXPECT_EQ(phases.num_forward(0), 1);
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
              HasSubstr("\"b\" of the task's step comes after"));
  EXPECT_THAT(refusal({{"a", train, 0}, {"b", train, 2}}), HasSubstr("batches up to 2, but only 2 of them"));
  EXPECT_THAT(refusal({{"a", train, 1}}), HasSubstr("number them 0, 1"));
}

TEST(StepPhases, BelongToUpdatesInTheirOrder) {
  const StepPhases phases(
      {{"look", forward, 0, 0}, {"a", train, 0, 0}, {"b", train, 0, 1}, {"c", train, 0, 1}},
      {{{"critic.*"}}, {}});

  EXPECT_EQ(phases.num_updates(), 2);
  EXPECT_EQ(phases.begin_of(1), 2);
  EXPECT_EQ(phases.end_of(1), 4);
  EXPECT_EQ(phases.num_training(0), 1);
  EXPECT_EQ(phases.num_training(1), 2);
  EXPECT_EQ(phases.num_forward(1), 0);
  EXPECT_EQ(phases.first_training(), 1);
  EXPECT_THAT(updates_that_move("critic.weight", phases.updates()), ElementsAre(0, 1));
  EXPECT_THAT(updates_that_move("actor.weight", phases.updates()), ElementsAre(1));
}

TEST(StepPhases, RefuseUpdatesThatHaveNoMeaning) {
  const std::vector<StepUpdate> two(2);
  EXPECT_THAT(refusal({{"a", train, 0, 1}}),
              HasSubstr("\"a\" of the task's step leads to update 1, and updates()"));
  EXPECT_THAT(refusal({{"a", train, 0, 0}}, two),
              HasSubstr("update 1 of the task's step has no phase that trains"));
  EXPECT_THAT(refusal({{"a", forward, 0, 0}, {"b", train, 0, 1}}, two),
              HasSubstr("update 0 of the task's step has no phase that trains"));
  EXPECT_THAT(refusal({{"a", train, 0, 1}, {"b", train, 0, 0}}, two),
              HasSubstr("\"b\" of the task's step comes after one of a later update"));
  EXPECT_THAT(refusal({{"a", train, 0, 0}, {"b", train, 0, 1}, {"c", forward, 0, 1}}, two),
              HasSubstr("the forward phase \"c\" of the task's step comes after a phase that trains"));
}

}  // namespace
}  // namespace d9d
