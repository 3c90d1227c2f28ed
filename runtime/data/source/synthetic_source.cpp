#include "runtime/data/source/synthetic_source.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, figure 16 (the finaliser).
std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<std::int64_t> synthetic_sequence(std::uint64_t index, std::int64_t length,
                                             std::int64_t vocab_size, std::uint64_t seed) {
  const auto vocab = static_cast<std::uint64_t>(vocab_size);
  const std::uint64_t base = (seed << 40) + (index << 20);
  std::vector<std::int64_t> out(static_cast<std::size_t>(length));
  std::uint64_t token = 0;
  for (std::size_t t = 0; t < out.size(); ++t) {
    const std::uint64_t h = splitmix64(base + t);
    if (t == 0) {
      token = h % vocab;
    } else if (((h >> 60) & 3) != 0) {
      token = (31 * token + 7) % vocab;
    } else {
      token = (h & 0xFFFFFFFF) % vocab;
    }
    out[t] = static_cast<std::int64_t>(token);
  }
  return out;
}

SyntheticSource::SyntheticSource(const SyntheticDataConfig& config) : config_(config) {
  D9D_REQUIRE(config.sequence_length >= 1 && config.sequence_length < 1 << 20,
              "data.sequence_length = {}, expected 1 to 2^20 - 1", config.sequence_length);
  D9D_REQUIRE(config.vocab_size >= 1 && config.vocab_size <= INT32_MAX,
              "data.vocab_size = {}, expected 1 to 2^31 - 1", config.vocab_size);
}

Sample SyntheticSource::at(std::uint64_t index) const {
  const auto sequence = synthetic_sequence(index, config_.sequence_length + 1, config_.vocab_size,
                                           static_cast<std::uint64_t>(config_.seed));
  return {{sequence.begin(), sequence.end() - 1}, {sequence.begin() + 1, sequence.end()}};
}

}  // namespace d9d
