#include "runtime/data/corpus/permutation.hpp"

#include <bit>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Four make a strong pseudo-random permutation of large domains; small ones want a few more to look mixed.
constexpr std::uint64_t num_rounds = 8;

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch)
    : n_(n), half_bits_((std::bit_width(n - 1) + 1) / 2), stream_(seed, "data order", epoch) {
  D9D_CHECK(n > 0, "a permutation of nothing");
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  D9D_CHECK(index < n_, "element {} of a permutation of {}", index, n_);
  if (n_ == 1) return 0;
  std::uint64_t value = encrypt(index);
  while (value >= n_) value = encrypt(value);
  return value;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    const std::uint64_t mixed = stream_.bits64(round << 32 | right);
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

EpochOrder::EpochOrder(std::uint64_t n, bool shuffle, std::uint64_t seed)
    : n_(n), shuffle_(shuffle), seed_(seed) {
  D9D_CHECK(n > 0, "an order of nothing");
}

std::uint64_t EpochOrder::item_at(std::uint64_t index) const {
  const std::uint64_t within = index % n_;
  return shuffle_ ? Permutation(n_, seed_, index / n_)(within) : within;
}

}  // namespace d9d
