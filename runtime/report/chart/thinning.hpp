#pragma once
// Reduces a long curve to few points, so that a picture of it stays small and
// still shows its outliers.

#include <cstddef>
#include <span>
#include <vector>

namespace d9d::report {

// The range of neighbouring values; all of them are finite.
struct Bucket {
  double step = 0;  // of its middle
  double low = 0;
  double mean = 0;
  double high = 0;
};

// Returns at most `most` buckets of about as many values each. Values that are not finite are left
// out, and so is a bucket without any other value.
std::vector<Bucket> thinned(std::span<const double> steps, std::span<const double> values, std::size_t most);

// Replaces each value by the mean of the `width` values around it. Near the ends it uses fewer,
// with as many before the value as after it, so that the curve is not shifted. Values that are not
// finite are left out of the means.
std::vector<double> smoothed(std::span<const double> values, std::size_t width);

}  // namespace d9d::report
