#include "runtime/rank/measured/watched_tensors.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

std::size_t bin_of(double value) {
  const auto& edges = magnitude_edges();
  return static_cast<std::size_t>(std::ranges::upper_bound(edges, value) - edges.begin() - 1);
}

TEST(WatchedTensors, CountEveryValueInTheBinOfItsMagnitude) {
  const std::vector<double> values{1,    1.5,   -1,     -1.5, 0.25, 3, std::ldexp(1.0, -39),
                                   -0.0, 1e-20, -1e-20, 100,  -200};
  const TensorCounts counts = counts_of(at::tensor(values, at::kDouble), 1);

  std::vector<double> expected(counts.bins.size(), 0.0);
  double sum = 0, squares = 0;
  for (const double value : values) {
    ++expected[value == -1 ? bin_of(-1.5) : bin_of(value)];  // a negative bin ends at its smallest magnitude
    sum += value;
    squares += value * value;
  }
  EXPECT_EQ(counts.bins, expected);
  EXPECT_DOUBLE_EQ(counts.sum, sum);
  EXPECT_DOUBLE_EQ(counts.sum_of_squares, squares);
  EXPECT_EQ(counts.largest, 200);
  EXPECT_EQ(counts.elements, static_cast<double>(values.size()));
}

TEST(WatchedTensors, CountWhatIsNotFiniteApartAndWhatIsTooLargeInTheLastBin) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  const TensorCounts counts = counts_of(at::tensor({none, endless, -endless, 1e6, -1e6}, at::kDouble), 1);
  EXPECT_EQ(counts.not_finite, 3);
  EXPECT_EQ(counts.elements, 2);
  EXPECT_EQ(counts.bins.front(), 1);
  EXPECT_EQ(counts.bins.back(), 1);
  EXPECT_EQ(counts_of(at::tensor({2.0, 4.0}, at::kDouble), 0.5).sum, 3) << "after the scale";
}

// Two replicas, one of two parameters in the pattern: together they count it once.
TEST(WatchedTensors, OfReplicasCountEachElementOnce) {
  std::vector<double> reduced;
  std::unique_ptr<TensorStatistics> statistics;
  for (int replica = 0; replica < 2; ++replica) {
    const Layout layout({5, 3}, {replicated("dp_replicate", 2, replica)});
    FlatParameters flat({make_parameter("model.up.weight", layout, at::kFloat),
                         make_parameter("model.down.weight", layout, at::kFloat)},
                        {});
    for (const StageParameter& parameter : flat.parameters()) {
      parameter.tensor.mutable_grad().copy_(wave(parameter.name, {5, 3}, 1));
    }
    statistics = std::make_unique<TensorStatistics>(std::vector<std::string>{"all", "up"}, false);
    watch_tensors(flat, {{"all", "*"}, {"up", "*.up.*"}}, 10, *statistics);
    if (reduced.empty()) {
      reduced = statistics->state();
    } else {
      combine_states(statistics->layout(), reduced, statistics->state());
    }
  }
  std::map<std::string, double> values;
  for (const auto& [name, value] : statistics->compute(reduced)) values[name] = value;

  const auto norm_of = [](const at::Tensor& tensor) { return tensor.to(at::kDouble).norm().item<double>(); };
  EXPECT_NEAR(values["up/gradient_norm"], 10 * norm_of(wave("model.up.weight", {5, 3}, 1)), 1e-5);
  EXPECT_NEAR(values["up/parameter_norm"], norm_of(wave("model.up.weight", {5, 3})), 1e-6);
  EXPECT_NEAR(
      values["all/parameter_norm"],
      std::hypot(norm_of(wave("model.up.weight", {5, 3})), norm_of(wave("model.down.weight", {5, 3}))), 1e-6);
}

}  // namespace
}  // namespace d9d
