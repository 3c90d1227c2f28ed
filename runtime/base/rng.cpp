#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

constexpr std::uint32_t multiplier_0 = 0xD2511F53;
constexpr std::uint32_t multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t weyl_0 = 0x9E3779B9;
constexpr std::uint32_t weyl_1 = 0xBB67AE85;

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{multiplier_0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{multiplier_1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3ULL;
  }
  return splitmix64(hash);
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t step) : step_(step) {
  const std::uint64_t key = splitmix64(seed ^ stable_hash(purpose));
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::array<std::uint32_t, 4> RandomStream::words(std::uint64_t element) const {
  return philox4x32({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
                     static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(step_ >> 32)},
                    key_);
}

std::uint64_t RandomStream::bits64(std::uint64_t element) const {
  const auto w = words(element);
  return std::uint64_t{w[1]} << 32 | w[0];
}

double RandomStream::uniform(std::uint64_t element) const {
  return static_cast<double>(bits64(element) >> 11) * 0x1.0p-53;
}

std::uint64_t RandomStream::below(std::uint64_t element, std::uint64_t bound) const {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits64(element)) * bound) >> 64);
}

}  // namespace d9d
