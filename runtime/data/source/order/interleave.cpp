#include "runtime/data/source/order/interleave.hpp"

#include <cmath>
#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double resolution = 1 << 20;
// Products of an odd number up to twice this and a share fit 64 bits.
constexpr std::uint64_t samples_max = std::uint64_t{1} << 40;

// The odd multiples of `share` that are below `limit`, or equal to it.
std::uint64_t odd_multiples(std::uint64_t share, std::uint64_t limit, bool or_equal) {
  if (!or_equal) --limit;
  return (limit / share + 1) / 2;
}

}  // namespace

Interleave::Interleave(const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const double weight : weights) {
    D9D_REQUIRE(weight > 0 && std::isfinite(all) && weight / all >= 1 / resolution,
                "the weight {} is less than a millionth of all weights, {}", weight, all);
    shares_.push_back(static_cast<std::uint64_t>(std::llround(weight / all * resolution)));
  }
  sum_ = std::accumulate(shares_.begin(), shares_.end(), std::uint64_t{0});
}

// Turn j of part k is before turn i of part m when (2j + 1) / k's share is less than (2i + 1) / m's.
std::uint64_t Interleave::sample_of(const Turn& turn) const {
  std::uint64_t before = turn.number;
  for (std::size_t other = 0; other < shares_.size(); ++other) {
    if (other == turn.part) continue;
    const std::uint64_t limit = (2 * turn.number + 1) * shares_[other];
    before += odd_multiples(shares_[turn.part], limit, other < turn.part);
  }
  return before;
}

// The part's first turn that is not before the sample.
std::uint64_t Interleave::first_turn_at(std::size_t part, std::uint64_t sample) const {
  const std::uint64_t near = sample * shares_[part] / sum_;
  const std::uint64_t around = shares_.size() + 1;
  std::uint64_t low = near > around ? near - around : 0;
  std::uint64_t high = near + around;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (sample_of({part, middle}) < sample) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Interleave::Turn Interleave::at(std::uint64_t sample) const {
  D9D_REQUIRE(sample < samples_max, "sample {} of a mixture, which has at most 2^40", sample);
  for (std::size_t part = 0; part < shares_.size(); ++part) {
    const Turn turn{part, first_turn_at(part, sample)};
    if (sample_of(turn) == sample) return turn;
  }
  fail(ErrorKind::bug, fmt::format("no part has sample {}", sample), __FILE__, __LINE__);
}

}  // namespace d9d
