#include "runtime/rank/measured/rank_metrics.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/metric/aggregation.hpp"
#include "runtime/task/task.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void declare_sum(Compose& metrics) {
  metrics.add("sum", std::make_unique<Accumulator>(ReduceOp::sum));
}
void declare_both(Compose& metrics) {
  declare_sum(metrics);
  metrics.add("also", std::make_unique<Accumulator>(ReduceOp::sum));
}

void add(Compose& metrics, double value) {
  metrics.get<Accumulator>("sum").update(value);
}

struct ThrowingTask final : TrainTask {
  ForwardInputs build_forward_inputs(const MicrobatchContext& /*context*/) const override { return {}; }
  Loss compute_loss(const LossContext& /*context*/) const override { return {}; }
  void create_metrics(Compose& /*metrics*/) const override { throw std::runtime_error("no such bin"); }
};

TEST(RankMetrics, OfATaskThatThrowsAreItsFaultAndNoBugOfOurs) {
  Compose metrics;

  EXPECT_EQ(error_of([&] { declare_task_metrics(ThrowingTask(), metrics); }, ErrorKind::environment),
            "the task's create_metrics threw: no such bin");
}

TEST(RankMetrics, HoldWhatWasCountedHereAndFromOtherThreads) {
  RankMetrics metrics(declare_both, /*counts_loss=*/true);
  add(metrics.of_losses(), 2);
  metrics.beside()->update([](Compose& there) { add(there, 3); });

  EXPECT_THAT(metrics.take(), ElementsAre(0, 5));  // also, sum
  EXPECT_THAT(metrics.take(), ElementsAre(0, 0));
}

TEST(RankMetrics, DropWhatAnotherRankCountsWithTheSameLosses) {
  RankMetrics metrics(declare_both, /*counts_loss=*/false);
  add(metrics.of_losses(), 2);
  add(metrics.here(), 7);

  EXPECT_THAT(metrics.take(), ElementsAre(0, 7));
}

TEST(RankMetrics, GoOnFromACheckpointAndNameWhatIsNoLongerDeclared) {
  RankMetrics before(declare_both, /*counts_loss=*/true), after(declare_sum, /*counts_loss=*/true);
  add(before.here(), 4);

  EXPECT_THAT(after.load({before.all().to_json().dump()}), ElementsAre("also"));
  EXPECT_THAT(after.load({}), IsEmpty());
  EXPECT_THAT(after.take(), ElementsAre(4));
}

}  // namespace
}  // namespace d9d::test
