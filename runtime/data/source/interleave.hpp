#pragma once
// Which part of a mixture a sample comes from, as a pure function of its number: no state, no table. Each
// part takes its turns as evenly as its weight allows: with the share w of the samples its turn j is due at
// (j + 1/2) / w, and turns follow each other by what they are due at, ties by the parts' order. Of any first
// n samples a part has within half the number of parts of w n.

#include <cstdint>
#include <vector>

namespace d9d {

class Interleave {
 public:
  // `weights` > 0 need not sum to 1; shares are kept to a millionth. Input error for a share below that.
  explicit Interleave(const std::vector<double>& weights);

  struct Turn {
    std::size_t part = 0;
    std::uint64_t number = 0;  // of the part's turns, from 0
  };
  Turn at(std::uint64_t sample) const;  // sample < 2^40
  // The sample that is this turn; the inverse of at().
  std::uint64_t sample_of(const Turn& turn) const;

 private:
  std::uint64_t first_turn_at(std::size_t part, std::uint64_t sample) const;

  std::vector<std::uint64_t> shares_;  // in 2^20ths, about
  std::uint64_t sum_ = 0;
};

}  // namespace d9d
