#pragma once
// A permutation of [0, n) as a pure function: no state, no table, any element in constant expected time.
// Feistel network with Philox as round function (Luby and Rackoff, 1988) over the next power of four, walked
// until inside [0, n) (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, section 4:
// cycle walking).

#include <cstdint>

#include "runtime/base/rng.hpp"

namespace d9d {

class Permutation {
 public:
  // Orders of different (seed, epoch) are independent. n > 0.
  Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch);

  // index < n.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t n_;
  int half_bits_;
  RandomStream stream_;
};

// Maps a global index to an item of a data set of n. Each epoch has every item once: in order, or
// shuffled in an order of its own.
class EpochOrder {
 public:
  EpochOrder(std::uint64_t n, bool shuffle, std::uint64_t seed);
  std::uint64_t item_at(std::uint64_t index) const;

 private:
  std::uint64_t n_;
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace d9d
