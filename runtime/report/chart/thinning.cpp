#include "runtime/report/chart/thinning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace d9d::report {

std::vector<Bucket> thinned(std::span<const double> steps, std::span<const double> values, std::size_t most) {
  const std::size_t count = std::min(most, values.size());
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    Bucket bucket{.step = (steps[begin] + steps[end - 1]) / 2};
    std::size_t finite = 0;
    for (const double value : values.subspan(begin, end - begin)) {
      if (!std::isfinite(value)) continue;
      bucket.low = finite == 0 ? value : std::min(bucket.low, value);
      bucket.high = finite == 0 ? value : std::max(bucket.high, value);
      bucket.mean += value;
      ++finite;
    }
    if (finite == 0) continue;
    bucket.mean /= static_cast<double>(finite);
    buckets.push_back(bucket);
  }
  return buckets;
}

std::vector<double> smoothed(std::span<const double> values, std::size_t width) {
  std::vector<double> sums{0}, counts{0};
  for (const double value : values) {
    const bool finite = std::isfinite(value);
    sums.push_back(sums.back() + (finite ? value : 0));
    counts.push_back(counts.back() + (finite ? 1 : 0));
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t half = std::min({width / 2, i, values.size() - 1 - i});
    const double count = counts[i + half + 1] - counts[i - half];
    const double sum = sums[i + half + 1] - sums[i - half];
    means.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

}  // namespace d9d::report
