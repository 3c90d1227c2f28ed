#include "actors/metric_collector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/lists.hpp"
#include "runtime/metric/aggregation.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using testing::ActorWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ActorId kMetrics{Role::metric_collector, 0};
constexpr ActorId kCollective{Role::collective, 1};
constexpr ActorId kTrainer{Role::trainer, 0};
constexpr ActorId kTracker{Role::tracker, 0};

void two_metrics(Compose& metrics) {
  metrics.add("accuracy", std::make_unique<WeightedMean>());
  metrics.add("longest", std::make_unique<Accumulator>(ReduceOp::max));
}

class MetricCollectorTest : public ::testing::Test {
 protected:
  void play(int rank = 0, const std::string& state = {}) {
    world.play<MetricCollector>(
        kMetrics, MetricCollectorOptions{
                      .rank = rank, .collective = kCollective, .create = two_metrics, .state = state});
  }
  void update(double value, double weight, const char* name = "accuracy") {
    world.say<wire::MetricUpdate>(kMetrics, [&](wire::MetricUpdate::Builder message) {
      auto list = message.initValues(1);
      list[0].setName(name);
      list[0].setValue(value);
      list[0].setWeight(weight);
    });
  }
  void collect(std::uint64_t step) {
    world.say<wire::CollectMetrics>(
        kMetrics, [&](wire::CollectMetrics::Builder message) { message.setStep(step); }, kTrainer);
  }
  std::vector<double> asked() {
    const auto reduce = world.last<wire::ReduceValues>(kCollective);
    return to_vector<double>(reduce->getValues());
  }
  void reduced(std::uint64_t order, const std::vector<double>& values) {
    world.say<wire::ValuesReduced>(
        kMetrics,
        [&](wire::ValuesReduced::Builder message) {
          message.setOrder(order);
          auto list = message.initValues(static_cast<unsigned>(values.size()));
          for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
        },
        kCollective);
  }
  std::string saved() {
    world.say<wire::SaveMetrics>(kMetrics, kTrainer);
    return world.last<wire::MetricState>(kTrainer)->getState();
  }
  ActorWorld world;
};

TEST_F(MetricCollectorTest, ReducesSumsFirstAndMaximaThen) {
  play();
  update(0.5, 8);
  update(1.0, 8);
  collect(10);
  EXPECT_THAT(asked(), ElementsAre(12, 16));
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOperation(), wire::ReduceValues::Operation::SUM);

  reduced(0, {24, 32});

  EXPECT_EQ(world.last<wire::ReduceValues>()->getOperation(), wire::ReduceValues::Operation::MAX);
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOrder(), 1U);
  EXPECT_TRUE(world.heard<wire::MetricValues>().empty());
  reduced(1, {7});
  const auto values = world.last<wire::MetricValues>(kTracker);
  EXPECT_EQ(values->getStep(), 10U);
  EXPECT_EQ(std::string(values->getNames()[0]), "accuracy");
  EXPECT_EQ(values->getValues()[0], 0.75);
  EXPECT_EQ(values->getValues()[1], 7);
}

TEST_F(MetricCollectorTest, OnlyRank0ReportsButAllReduce) {
  play(1);
  update(1, 1);
  collect(10);
  reduced(0, {1, 1});
  reduced(1, {0});

  EXPECT_EQ(world.heard<wire::ReduceValues>().size(), 2U);
  EXPECT_TRUE(world.heard<wire::MetricValues>().empty());
}

TEST_F(MetricCollectorTest, ACollectionDuringAReductionWaitsItsTurnAndTakesOnlyWhatCameSince) {
  play();
  update(1, 1);
  collect(10);
  update(3, 1);
  collect(20);
  EXPECT_EQ(world.heard<wire::ReduceValues>().size(), 1U);

  reduced(0, {1, 1});
  reduced(1, {0});

  EXPECT_THAT(asked(), ElementsAre(3, 1));
  EXPECT_EQ(world.last<wire::ReduceValues>()->getOrder(), 2U);
}

TEST_F(MetricCollectorTest, SavesWhatIsNotReportedYetAndGoesOnFromIt) {
  play();
  update(0.25, 4);
  const std::string state = saved();

  ActorWorld resumed;
  resumed.play<MetricCollector>(
      kMetrics,
      MetricCollectorOptions{.rank = 0, .collective = kCollective, .create = two_metrics, .state = state});
  resumed.say<wire::CollectMetrics>(kMetrics);

  EXPECT_EQ(resumed.last<wire::ReduceValues>()->getValues()[0], 1);
  EXPECT_EQ(resumed.last<wire::ReduceValues>()->getValues()[1], 4);
}

TEST_F(MetricCollectorTest, AMetricThatTheTaskDidNotDeclareIsTheTasksFault) {
  play();
  update(1, 1, "surprise");

  const auto failed = world.last<wire::Failed>();
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_THAT(std::string(failed->getText()), HasSubstr("accuracy"));
}

TEST_F(MetricCollectorTest, ATaskWithoutMetricsReducesNothing) {
  world.play<MetricCollector>(
      kMetrics, MetricCollectorOptions{.rank = 0, .collective = kCollective, .create = [](Compose&) {}});
  collect(10);

  EXPECT_TRUE(world.heard<wire::ReduceValues>().empty());
  EXPECT_EQ(world.last<wire::MetricValues>(kTracker)->getStep(), 10U)
      << "whoever waits for it hears that it is empty";
  EXPECT_EQ(world.last<wire::MetricValues>()->getNames().size(), 0U);
}

}  // namespace
}  // namespace d9d
