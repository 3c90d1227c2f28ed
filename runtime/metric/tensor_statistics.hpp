#pragma once
// Statistics of groups of tensors: norms, means, extremes and histograms of gradients and
// parameters. Each rank counts the elements that no other rank counts. No torch.

#include <array>
#include <string>
#include <vector>

#include "runtime/metric/metric.hpp"

namespace d9d {

// Counts of the finite elements; the bins are those of magnitude_edges().
struct TensorCounts {
  double elements = 0;
  double not_finite = 0;
  double sum = 0;
  double sum_of_squares = 0;
  double largest = 0;  // magnitude
  std::vector<double> bins{};
};

// Each bin spans a factor of two: -2^8 to -2^-40, one bin for everything smaller, 2^-40 to 2^8; 98
// edges. Values outside count in the outermost bins.
constexpr int smallest_power = -40;
constexpr int largest_power = 8;
const std::vector<double>& magnitude_edges();

enum class WatchedKind { gradient, parameter };

class TensorStatistics final : public Metric {
 public:
  // Reports one result for each group and kind; and their bins as histograms, if asked for.
  TensorStatistics(std::vector<std::string> groups, bool with_histograms);

  const std::vector<std::string>& groups() const { return groups_; }
  void update(std::size_t group, WatchedKind kind, const TensorCounts& counts);

  std::vector<ReduceOp> layout() const override;
  std::vector<double> state() const override { return state_; }
  void load(std::span<const double> state) override;
  // Returns GROUP/gradient_norm, gradient_mean, gradient_max (of magnitudes), gradient_not_finite, and
  // the same for `parameter`. NaN if the group has no elements.
  MetricValues compute(std::span<const double> state) const override;
  // GROUP/gradient, GROUP/parameter.
  std::vector<NamedHistogram> histograms(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

 private:
  std::size_t place_of(std::size_t group, WatchedKind kind) const;
  template <class Use>
  void for_each(std::span<const double> state, Use use) const;

  const std::vector<std::string> groups_;
  const bool with_histograms_;
  std::vector<double> state_;
};

}  // namespace d9d
