#include "runtime/metric/metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/compose.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

double only_value(const MetricValues& values) {
  EXPECT_EQ(values.size(), 1U);
  return values.at(0).second;
}

// What an all-reduce over ranks does, by the packed buffers that it would carry.
std::vector<double> all_reduced(const std::vector<const Metric*>& ranks) {
  const auto layout = ranks.front()->layout();
  PackedState sum = pack_state(layout, ranks.front()->state());
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const PackedState other = pack_state(layout, ranks[rank]->state());
    for (std::size_t i = 0; i < sum.sums.size(); ++i) sum.sums[i] += other.sums[i];
    for (std::size_t i = 0; i < sum.maxima.size(); ++i)
      sum.maxima[i] = std::max(sum.maxima[i], other.maxima[i]);
  }
  return unpack_state(layout, sum);
}

TEST(WeightedMean, WeighsItsValues) {
  WeightedMean mean;

  mean.update(2, 1);
  mean.update(8, 3);

  EXPECT_DOUBLE_EQ(only_value(mean.compute()), 6.5);
  EXPECT_EQ(mean.accumulated_weight(), 4);
}

TEST(WeightedMean, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(only_value(WeightedMean().compute())));
}

TEST(WeightedMean, DoesNotCountAValueOfNoWeight) {
  WeightedMean mean;

  mean.update(5, 2);
  mean.update(std::nan(""), 0);

  EXPECT_EQ(only_value(mean.compute()), 5);
}

TEST(WeightedMean, StartsAnewAfterAReset) {
  WeightedMean mean;
  mean.update(5, 2);

  mean.reset();
  mean.update(1, 1);

  EXPECT_EQ(only_value(mean.compute()), 1);
}

TEST(Accumulator, SumsOrKeepsTheExtreme) {
  Accumulator sum(ReduceOp::sum), max(ReduceOp::max), min(ReduceOp::min);

  for (const double value : {-3.0, 7.0, 1.5}) {
    sum.update(value);
    max.update(value);
    min.update(value);
  }

  EXPECT_EQ(only_value(sum.compute()), 5.5);
  EXPECT_EQ(only_value(max.compute()), 7);
  EXPECT_EQ(only_value(min.compute()), -3);
}

TEST(Compose, ReducesAllItsMetricsInOneBuffer) {
  std::vector<std::unique_ptr<Compose>> ranks;
  const RandomStream random(1, "updates");
  double weighted = 0, weight = 0, smallest = 1;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    auto compose = std::make_unique<Compose>();
    compose->add("loss", std::make_unique<WeightedMean>());
    compose->add("tokens", std::make_unique<Accumulator>(ReduceOp::sum));
    compose->add("smallest", std::make_unique<Accumulator>(ReduceOp::min));
    for (std::uint64_t i = rank * 10; i < rank * 10 + 10; ++i) {
      const double value = random.uniform(i);
      compose->get<WeightedMean>("loss").update(value, static_cast<double>(i));
      compose->get<Accumulator>("tokens").update(2);
      compose->get<Accumulator>("smallest").update(value);
      weighted += value * static_cast<double>(i);
      weight += static_cast<double>(i);
      smallest = std::min(smallest, value);
    }
    ranks.push_back(std::move(compose));
  }

  const auto values = ranks[0]->compute(all_reduced({ranks[0].get(), ranks[1].get(), ranks[2].get()}));

  EXPECT_EQ(values.at(0).first, "loss");
  EXPECT_DOUBLE_EQ(values.at(0).second, weighted / weight);
  EXPECT_EQ(values.at(1), (std::pair<std::string, double>{"smallest", smallest}));
  EXPECT_EQ(values.at(2), (std::pair<std::string, double>{"tokens", 60.0}));
}

TEST(Compose, CanBeReducedAgainWhileItGoesOnAccumulating) {
  Compose a, b;
  for (Compose* compose : {&a, &b}) compose->add("x", std::make_unique<WeightedMean>());
  a.get<WeightedMean>("x").update(1);
  b.get<WeightedMean>("x").update(3);

  const double first = only_value(a.compute(all_reduced({&a, &b})));
  a.get<WeightedMean>("x").update(5);
  const double second = only_value(a.compute(all_reduced({&a, &b})));

  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 3);
}

TEST(Compose, NamesTheResultsOfNestedMetricsByTheirPath) {
  auto inner = std::make_unique<Compose>();
  inner->add("mean", std::make_unique<WeightedMean>());
  Compose outer;
  outer.add("tokens", std::move(inner));

  outer.get<Compose>("tokens").get<WeightedMean>("mean").update(4);

  EXPECT_EQ(outer.compute(), (MetricValues{{"tokens/mean", 4.0}}));
}

TEST(Compose, GivesWhatWasCountedSinceTheLastCallToAnother) {
  Compose from, to;
  for (Compose* each : {&from, &to}) {
    each->add("largest", std::make_unique<Accumulator>(ReduceOp::max));
    each->add("sum", std::make_unique<Accumulator>(ReduceOp::sum));
  }
  to.get<Accumulator>("sum").update(1);
  EXPECT_TRUE(from.take_updates().empty()) << "no metric was asked for";

  from.get<Accumulator>("sum").update(2);
  from.get<Accumulator>("largest").update(-3);
  to.merge(from.take_updates());
  to.merge(from.take_updates());

  EXPECT_EQ(to.compute(), (MetricValues{{"largest", -3.0}, {"sum", 3.0}}));
}

std::string message_of(const std::function<void()>& call) {
  return test::error_of([&] { call(); }, ErrorKind::input);
}

TEST(Compose, NamesTheMetricThatIsNotDeclared) {
  Compose compose;
  compose.add("x", std::make_unique<WeightedMean>());
  compose.add("y", std::make_unique<WeightedMean>());

  EXPECT_THAT(message_of([&] { compose.get<WeightedMean>("z"); }),
              testing::HasSubstr("no metric \"z\"; the task's create_metrics declares: x, y"));
}

TEST(Compose, RefusesOneNameForTwoKinds) {
  Compose compose;
  compose.add("x", std::make_unique<WeightedMean>());

  EXPECT_THAT(message_of([&] { compose.get<Accumulator>("x"); }), testing::HasSubstr("\"x\""));
  EXPECT_THAT(message_of([&] { compose.add("x", std::make_unique<WeightedMean>()); }),
              testing::HasSubstr("two metrics named \"x\""));
}

// A plugin's metric may be anything.
class Odd final : public Metric {
 public:
  explicit Odd(std::vector<double> state) : state_(std::move(state)) {}
  std::vector<ReduceOp> layout() const override { return {ReduceOp::sum}; }
  std::vector<double> state() const override { return state_; }
  void load(std::span<const double>) override {}
  MetricValues compute(std::span<const double>) const override { return {}; }
  void reset() override {}

 private:
  std::vector<double> state_;
};

TEST(Compose, RefusesAMetricThatEveryRankWouldCountFromTheStart) {
  Compose compose;

  EXPECT_THAT(message_of([&] { compose.add("prior", std::make_unique<Odd>(std::vector<double>{1})); }),
              testing::HasSubstr("\"prior\" starts with 1 in element 0; expected 0"));
  EXPECT_THAT(message_of([&] {
                compose.add("long", std::make_unique<Odd>(std::vector<double>{0, 0}));
              }),
              testing::HasSubstr("\"long\" gives a state of 2 elements and a layout of 1"));
}

TEST(States, CombineElementByElement) {
  const std::vector layout{ReduceOp::sum, ReduceOp::max, ReduceOp::min};
  std::vector<double> into{1, 2, 3};

  combine_states(layout, into, std::vector<double>{10, 1, -1});

  EXPECT_EQ(into, (std::vector<double>{11, 2, -1}));
}

}  // namespace
}  // namespace d9d
