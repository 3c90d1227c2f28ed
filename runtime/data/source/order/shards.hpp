#pragma once
// Reads the samples of an epoch from several shards (DATA-03) that take turns of `turn`
// samples each; an empty shard is skipped. A shard has ceil(n / count) samples, the last ones
// fewer. The order is a pure function and a permutation: no sample is lost or repeated, and
// no shard is padded.

#include <array>
#include <cstdint>

#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

class Shards {
 public:
  // Input error: more shards than samples.
  Shards(std::uint64_t num_samples, const ShardsConfig& config);
  // index < num_samples.
  std::uint64_t at(std::uint64_t index) const;

 private:
  // Consecutive shards of one size.
  struct Equal {
    std::uint64_t first = 0, count = 0, size = 0;
  };
  std::uint64_t read_before(std::uint64_t round) const;
  std::uint64_t sample_of(std::uint64_t shard, std::uint64_t number) const;

  const std::uint64_t num_samples_, count_, turn_;
  const ShardMode mode_;
  const std::uint64_t largest_;   // samples of the first shard
  std::array<Equal, 2> sizes_{};  // shards beyond them are empty
};

}  // namespace d9d
