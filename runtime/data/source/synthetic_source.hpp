#pragma once
// Endless made-up sequences: an affine walk over the vocabulary with one random jump in four, so that there
// is something to learn. Integer arithmetic only, the same on every machine:
//   h(t) = splitmix64(seed * 2^40 + index * 2^20 + t)
//   token(0) = h(0) mod V;  token(t) = (31 token(t-1) + 7) mod V where bits 60 and 61 of h(t) are not both 0,
//   else (h(t) mod 2^32) mod V

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

// Returns the first `length` tokens of sequence `index`.
std::vector<std::int64_t> synthetic_sequence(std::uint64_t index, std::int64_t length,
                                             std::int64_t vocab_size, std::uint64_t seed);

// Sample i is sequence i of length S + 1: the first S are the inputs, the last S the labels.
class SyntheticSource final : public SampleSource {
 public:
  explicit SyntheticSource(const SyntheticDataConfig& config);
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return config_.sequence_length; }
  std::optional<std::int64_t> vocab_size() const override { return config_.vocab_size; }
  Sample at(std::uint64_t index) const override;

 private:
  const SyntheticDataConfig config_;
};

}  // namespace d9d
