// Which batches of an evaluation a rank asks for, begins and waits for.
#include "actors/notes/evaluation_run.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class EvaluationRunTest : public ::testing::Test {
 protected:
  EvaluationRun make(std::uint64_t batches, std::uint64_t ahead) {
    return {{.batches = batches, .due = {}, .ahead = ahead},
            {.load = [this](std::uint64_t first, std::uint64_t count) { loads.emplace_back(first, count); },
             .compute = [this](std::uint64_t number, const LoadedBatch&) { begun.push_back(number); }}};
  }
  static LoadedBatch batch() { return {.tokens = 64}; }
  static StepTotals totals(double loss, double weight) {
    return {.loss_sum = loss, .weight_sum = weight, .tokens = 64};
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> loads;
  std::vector<std::uint64_t> begun;
};

TEST_F(EvaluationRunTest, LoadsOneBatchAheadAndNoneBeyondTheLast) {
  EvaluationRun run = make(3, 8);
  run.start(4, 0);
  EXPECT_THAT(loads, ElementsAre(Pair(1, 2)));
  run.loaded(batch());
  EXPECT_THAT(loads, ElementsAre(Pair(1, 2), Pair(3, 1)));
  run.loaded(batch());
  EXPECT_THAT(begun, ElementsAre(1)) << "one at a time";
  EXPECT_EQ(run.computed(1), 64U);
  run.loaded(batch());
  run.computed(2);
  run.computed(3);

  EXPECT_THAT(begun, ElementsAre(1, 2, 3));
  EXPECT_THAT(loads, ElementsAre(Pair(1, 2), Pair(3, 1)));
  EXPECT_FALSE(run.loading());
}

TEST_F(EvaluationRunTest, WaitsForTheSlowestRank) {
  EvaluationRun run = make(5, 1);
  run.start(4, 0);
  for (int i = 0; i < 4; ++i) run.loaded(batch());
  run.computed(1);
  run.computed(2);
  EXPECT_THAT(begun, ElementsAre(1, 2)) << "nothing is reduced yet";

  EXPECT_FALSE(run.reduced(totals(1, 1), false));

  EXPECT_THAT(begun, ElementsAre(1, 2, 3));
}

TEST_F(EvaluationRunTest, IsTheWeightedMeanOverAllBatches) {
  EvaluationRun run = make(2, 2);
  run.start(4, 7);
  for (std::uint64_t number : {1, 2}) {
    run.loaded(batch());
    run.computed(number);
  }
  EXPECT_FALSE(run.reduced(totals(6, 2), false));
  EXPECT_TRUE(run.reduced(totals(2, 6), false));

  EXPECT_TRUE(run.whole());
  EXPECT_DOUBLE_EQ(run.loss(), 1.0);
  EXPECT_EQ(run.loss_after(4), 1.0);
  EXPECT_EQ(run.loss_after(3), std::nullopt);
  EXPECT_EQ(run.tokens(), 128U);
  EXPECT_EQ(run.begin_ns(), 7);
}

// Another rank may have begun the batch after the one that is reduced: this one has to compute it with that rank.
TEST_F(EvaluationRunTest, EndsOnASignalWhereEveryRankCanEnd) {
  EvaluationRun run = make(9, 1);
  run.start(4, 0);
  for (int i = 0; i < 3; ++i) run.loaded(batch());
  run.computed(1);

  EXPECT_FALSE(run.reduced(totals(1, 1), true));
  run.computed(2);
  EXPECT_TRUE(run.reduced(totals(1, 1), true));

  EXPECT_THAT(begun, ElementsAre(1, 2));
  EXPECT_FALSE(run.whole());
  EXPECT_EQ(run.loss_after(4), std::nullopt);
}

TEST_F(EvaluationRunTest, BeginsAnewWithTheLoaderCountingOn) {
  EvaluationRun run = make(1, 1);
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    run.start(4, 0);
    EXPECT_TRUE(run.loading());
    run.loaded(batch());
    run.computed(1);
    EXPECT_TRUE(run.reduced(totals(evaluation + 1, 1), false));
    EXPECT_DOUBLE_EQ(run.loss(), evaluation + 1);
  }

  EXPECT_THAT(loads, ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(begun, ElementsAre(1, 1));
}

TEST_F(EvaluationRunTest, KnowsWhetherItHasMoved) {
  EvaluationRun run = make(2, 1);
  run.start(4, 0);
  EXPECT_TRUE(run.take_progress());
  EXPECT_FALSE(run.take_progress());
  run.loaded(batch());
  run.computed(1);
  run.reduced(totals(0, 0), false);
  EXPECT_TRUE(run.take_progress());
  EXPECT_TRUE(std::isnan(run.loss()));
}

TEST_F(EvaluationRunTest, AnotherBatchThanTheOneInWorkIsABug) {
  EvaluationRun run = make(2, 1);
  run.start(4, 0);
  run.loaded(batch());

  EXPECT_THROW(run.computed(2), Error);
}

}  // namespace
}  // namespace d9d
