// Metrics in checkpoints: bit for bit, small where little was counted, and of tasks that have changed since.
#include "runtime/metric/state_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/auroc.hpp"
#include "runtime/metric/compose.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Compose mean_and_largest() {
  Compose metrics;
  metrics.add("mean", std::make_unique<WeightedMean>());
  metrics.add("largest", std::make_unique<Accumulator>(ReduceOp::max));
  return metrics;
}

json through_a_file(const Compose& metrics) {
  return json::parse(metrics.to_json().dump());
}

TEST(StateJson, ComesBackBitForBit) {
  Compose before = mean_and_largest(), after = mean_and_largest();
  before.get<WeightedMean>("mean").update(0.1, 1e-300);
  before.get<WeightedMean>("mean").update(std::nextafter(1.0, 2.0), 3);

  EXPECT_THAT(after.merge_json(through_a_file(before)), IsEmpty());

  EXPECT_EQ(after.state(), before.state());
  EXPECT_EQ(after.state().at(0), -std::numeric_limits<double>::infinity());
}

TEST(StateJson, KeepsInfinitiesAndNan) {
  const std::vector layout(3, ReduceOp::sum);
  const double infinity = std::numeric_limits<double>::infinity();

  const auto back = state_from_json(
      json::parse(state_to_json(layout, std::vector{infinity, -infinity, std::nan("")}).dump()), layout, "x");

  ASSERT_TRUE(back);
  EXPECT_EQ(back->at(0), infinity);
  EXPECT_EQ(back->at(1), -infinity);
  EXPECT_TRUE(std::isnan(back->at(2)));
}

TEST(StateJson, AHistogramIsAsLongAsWhatItCounted) {
  Compose before, after;
  for (Compose* metrics : {&before, &after}) metrics->add("auroc", std::make_unique<BinaryAuroc>());
  before.get<BinaryAuroc>("auroc").update(std::vector{0.25, 0.75}, std::vector<std::int64_t>{0, 1});

  EXPECT_LT(before.to_json().dump().size(), 100U);
  after.merge_json(through_a_file(before));

  EXPECT_EQ(after.state(), before.state());
}

TEST(StateJson, StatesOfSeveralRanksAreJoined) {
  Compose a = mean_and_largest(), b = mean_and_largest(), joined = mean_and_largest();
  a.get<WeightedMean>("mean").update(2, 1);
  a.get<Accumulator>("largest").update(7);
  b.get<WeightedMean>("mean").update(8, 3);

  joined.merge_json(through_a_file(a));
  joined.merge_json(through_a_file(b));

  EXPECT_THAT(joined.state(), ElementsAre(7, 26, 4));
}

TEST(StateJson, AMetricTheTaskLostIsNamedAndOneItGainedStartsEmpty) {
  Compose before = mean_and_largest(), after;
  before.get<WeightedMean>("mean").update(2, 1);
  before.get<Accumulator>("largest").update(7);
  after.add("largest", std::make_unique<Accumulator>(ReduceOp::max));
  after.add("new", std::make_unique<WeightedMean>());

  EXPECT_THAT(after.merge_json(through_a_file(before)), ElementsAre("mean"));

  EXPECT_THAT(after.state(), ElementsAre(7, 0, 0));
}

TEST(StateJson, AMetricThatIsAnotherKindNowStartsEmpty) {
  Compose before, after;
  before.add("x", std::make_unique<Accumulator>(ReduceOp::sum));
  after.add("x", std::make_unique<Accumulator>(ReduceOp::max));
  before.get<Accumulator>("x").update(5);

  EXPECT_THAT(after.merge_json(through_a_file(before)), ElementsAre("x"));

  EXPECT_EQ(after.state(), std::vector{-std::numeric_limits<double>::infinity()});
}

TEST(StateJson, ListsOfEarlierVersionsAreRead) {
  Compose metrics = mean_and_largest();

  EXPECT_THAT(metrics.merge_json(json::parse(R"({"mean": [6, 2], "largest": ["-inf"]})")), IsEmpty());

  EXPECT_THAT(metrics.state(), ElementsAre(-std::numeric_limits<double>::infinity(), 6, 2));
}

TEST(StateJson, DamagedStatesNameTheirMetric) {
  Compose metrics = mean_and_largest();
  const auto message_of = [&](const char* text) {
    return test::error_of([&] { metrics.merge_json(json::parse(text)); }, ErrorKind::input);
  };

  EXPECT_THAT(message_of("[]"), HasSubstr("expected an object by name"));
  EXPECT_THAT(message_of(R"({"mean": [1, "much"]})"), HasSubstr("metric \"mean\": its state has \"much\""));
  EXPECT_THAT(message_of(R"({"mean": 3})"), HasSubstr("metric \"mean\": its state is 3"));
  EXPECT_THAT(message_of(R"({"mean": {"layout": "2 sum", "values": [1]}})"), HasSubstr("expected 2"));
  EXPECT_THAT(message_of(R"({"mean": {"layout": "2 sum"}})"), HasSubstr("no list \"values\""));
  for (const char* place : {"2", "-1", "\"a\"", "0.5"}) {
    const std::string text =
        R"({"mean": {"layout": "2 sum", "at": [)" + std::string(place) + R"(], "values": [1]}})";
    EXPECT_THAT(message_of(text.c_str()), HasSubstr("expected a place below 2"));
  }
}

}  // namespace
}  // namespace d9d
