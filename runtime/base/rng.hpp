#pragma once
// Counter-based random numbers: a pure function of (seed, purpose, step, element), so every mesh draws the
// same values, a resume cannot drift, and nothing touches a process-wide generator. Philox4x32-10: Salmon,
// Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace d9d {

// Four independent 32-bit words for one 128-bit counter and 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// A stable 64-bit hash of a name (FNV-1a, finished with splitmix64): turns parameter names into stream ids.
std::uint64_t stable_hash(std::string_view text);

// One stream of random numbers. `purpose` names the use ("init:<parameter>", "data order", "dropout", ...).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t step = 0);

  std::array<std::uint32_t, 4> words(std::uint64_t element) const;
  std::uint64_t bits64(std::uint64_t element) const;
  double uniform(std::uint64_t element) const;  // [0, 1), 53 bits
  float normal(std::uint64_t element) const;    // mean 0, variance 1
  // out[i] = normal(first + i), bit for bit, several elements at a time.
  void fill_normal(std::uint64_t first, std::size_t count, float* out) const;
  // Uniform integer in [0, bound); bound > 0. Bias is below 2^-64 * bound.
  std::uint64_t below(std::uint64_t element, std::uint64_t bound) const;

  const std::array<std::uint32_t, 2>& key() const { return key_; }
  std::uint64_t step() const { return step_; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t step_;
};

}  // namespace d9d
