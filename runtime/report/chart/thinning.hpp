#pragma once
// A long curve as few points, so that a picture of it stays small and shows its outliers.

#include <cstddef>
#include <span>
#include <vector>

namespace d9d::report {

// Neighbouring values as one; all of them are finite.
struct Bucket {
  double step = 0;  // of its middle
  double low = 0;
  double mean = 0;
  double high = 0;
};

// At most `most` buckets of about as many values each. Values that are not finite are left out: a bucket of
// such only is not there.
std::vector<Bucket> thinned(std::span<const double> steps, std::span<const double> values, std::size_t most);

// Each value becomes the mean of the `width` values around it. Near the ends fewer, as many before it as behind
// it, so that the curve does not run late. Values that are not finite are left out of the means.
std::vector<double> smoothed(std::span<const double> values, std::size_t width);

}  // namespace d9d::report
