#pragma once
// Chooses the part of a mixture for each sample, as a pure function of the sample's number: no
// state, no table. Each part gets its turns as evenly as its weight allows. A part with the share w
// of the samples has its turn j due at (j + 1/2) / w. Turns are ordered by this value, ties by the
// order of parts. Among any first n samples, a part with the share w has w n samples, give or take
// half the number of parts.

#include <cstdint>
#include <vector>

namespace d9d {

class Interleave {
 public:
  // `weights` must be > 0 and need not sum to 1. Shares are kept to a millionth; a share below that
  // is an input error.
  explicit Interleave(const std::vector<double>& weights);

  struct Turn {
    std::size_t part = 0;
    std::uint64_t number = 0;  // among the part's turns, from 0
  };
  Turn at(std::uint64_t sample) const;  // sample < 2^40
  // Returns the sample of a turn: the inverse of at().
  std::uint64_t sample_of(const Turn& turn) const;

 private:
  std::uint64_t first_turn_at(std::size_t part, std::uint64_t sample) const;

  std::vector<std::uint64_t> shares_;  // in 2^20ths, about
  std::uint64_t sum_ = 0;
};

}  // namespace d9d
