#include "actors/metric_collector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/lists.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/sums_metric.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::ElementsAre;

constexpr ActorId metrics_id{Role::metric_collector, 0};
constexpr ActorId group_id{Role::collective, 1};
constexpr ActorId executor_id{Role::rank_executor, 0};
constexpr ActorId tracker_id{Role::tracker, 0};

void two_metrics(Compose& metrics) {
  metrics.add("accuracy", std::make_unique<WeightedMean>());
  metrics.add("longest", std::make_unique<Accumulator>(ReduceOp::max));
}

class MetricCollectorTest : public ::testing::Test {
 protected:
  void play(int rank = 0) {
    world.play<MetricCollector>(
        metrics_id, MetricCollectorOptions{.rank = rank, .collective = group_id, .create = two_metrics});
  }
  // Sum and weight of the accuracy, then the longest.
  void taken(std::uint64_t step, const std::vector<double>& state) {
    world.say<wire::MetricsTaken>(
        metrics_id,
        [&](wire::MetricsTaken::Builder message) {
          message.setStep(step);
          fill_list(message.initState(static_cast<unsigned>(state.size())), state);
        },
        executor_id);
  }
  std::vector<double> asked() {
    const auto reduce = world.last<wire::ReduceValues>(group_id);
    return to_vector<double>(reduce->getValues());
  }
  void reduced(std::uint64_t order, const std::vector<double>& values) {
    world.say<wire::ValuesReduced>(
        metrics_id,
        [&](wire::ValuesReduced::Builder message) {
          message.setOrder(order);
          auto list = message.initValues(static_cast<unsigned>(values.size()));
          for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
        },
        group_id);
  }
  ActorWorld world;
};

TEST_F(MetricCollectorTest, ReducesSumsFirstAndMaximaThen) {
  play();
  taken(10, {12, 16, 5});
  EXPECT_THAT(asked(), ElementsAre(12, 16));
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOperation(), wire::ReduceValues::Operation::SUM);

  reduced(0, {24, 32});

  EXPECT_EQ(world.last<wire::ReduceValues>()->getOperation(), wire::ReduceValues::Operation::MAX);
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOrder(), 1U);
  EXPECT_TRUE(world.heard<wire::MetricValues>().empty());
  reduced(1, {7});
  const auto values = world.last<wire::MetricValues>(tracker_id);
  EXPECT_EQ(values->getStep(), 10U);
  EXPECT_EQ(std::string(values->getNames()[0]), "accuracy");
  EXPECT_EQ(values->getValues()[0], 0.75);
  EXPECT_EQ(values->getValues()[1], 7);
}

TEST_F(MetricCollectorTest, OnlyRank0ReportsButAllReduce) {
  play(1);
  taken(10, {1, 1, 0});
  reduced(0, {1, 1});
  reduced(1, {0});

  EXPECT_EQ(world.heard<wire::ReduceValues>().size(), 2U);
  EXPECT_TRUE(world.heard<wire::MetricValues>().empty());
}

TEST_F(MetricCollectorTest, ACollectionDuringAReductionWaitsItsTurn) {
  play();
  taken(10, {1, 1, 0});
  taken(20, {3, 1, 0});
  EXPECT_EQ(world.heard<wire::ReduceValues>().size(), 1U);

  reduced(0, {1, 1});
  reduced(1, {0});

  EXPECT_THAT(asked(), ElementsAre(3, 1));
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOrder(), 2U);
}

TEST_F(MetricCollectorTest, SaysThatItSleepsWhenNothingIsBeingReduced) {
  constexpr ActorId trainer_id{Role::trainer, 0};
  play();
  taken(10, {1, 1, 0});
  world.say<wire::Sleep>(
      metrics_id, [](wire::Sleep::Builder sleep) { sleep.setStep(10); }, executor_id);
  reduced(0, {1, 1});
  EXPECT_TRUE(world.heard<wire::Slept>().empty());
  reduced(1, {0});
  EXPECT_EQ(world.last<wire::Slept>(trainer_id)->getStep(), 10U);

  world.say<wire::Sleep>(
      metrics_id, [](wire::Sleep::Builder sleep) { sleep.setStep(11); }, executor_id);

  EXPECT_EQ(world.last<wire::Slept>(trainer_id)->getStep(), 11U) << "at once";
}

TEST_F(MetricCollectorTest, ATaskWithoutMetricsReducesNothing) {
  world.play<MetricCollector>(
      metrics_id, MetricCollectorOptions{.rank = 0, .collective = group_id, .create = [](Compose&) {}});
  taken(10, {});

  EXPECT_TRUE(world.heard<wire::ReduceValues>().empty());
  EXPECT_EQ(world.last<wire::MetricValues>(tracker_id)->getStep(), 10U)
      << "whoever waits for it hears that it is empty";
  EXPECT_EQ(world.last<wire::MetricValues>()->getNames().size(), 0U);
}

// Numbers for people: a metric of a plugin that throws is left out, and the others come.
TEST_F(MetricCollectorTest, LeavesOutAMetricThatThrows) {
  struct Quota final : SumsMetric {
    Quota() : SumsMetric(1) {}
    MetricValues compute(std::span<const double>) const override { throw std::runtime_error("quota"); }
  };
  world.play<MetricCollector>(
      metrics_id, MetricCollectorOptions{.rank = 0, .collective = group_id, .create = [](Compose& metrics) {
                                           metrics.add("accuracy", std::make_unique<WeightedMean>());
                                           metrics.add("quota", std::make_unique<Quota>());
                                         }});
  for (const std::uint64_t step : {3, 4}) {
    taken(step, {3, 4, 7});
    reduced(2 * (step - 3), {6, 8, 7});
    reduced(2 * (step - 3) + 1, {});

    const auto values = world.last<wire::MetricValues>(tracker_id);
    EXPECT_EQ(values->getStep(), step);
    ASSERT_EQ(values->getNames().size(), 1U);
    EXPECT_EQ(std::string(values->getNames()[0]), "accuracy");
  }
}

TEST_F(MetricCollectorTest, TellsThoseOfAnEvaluationToTheTrainerToo) {
  world.play<MetricCollector>(
      metrics_id,
      MetricCollectorOptions{
          .rank = 0, .collective = group_id, .create = two_metrics, .create_evaluation = [](Compose&) {}});
  world.say<wire::MetricsTaken>(
      metrics_id,
      [](wire::MetricsTaken::Builder message) {
        message.setStep(4);
        message.setEvaluation(true);
      },
      executor_id);

  EXPECT_EQ(world.last<wire::MetricValues>(ActorId{Role::trainer, 0})->getStep(), 4U);
  EXPECT_EQ(world.last<wire::MetricValues>(tracker_id)->getStep(), 4U);
}

}  // namespace
}  // namespace d9d
