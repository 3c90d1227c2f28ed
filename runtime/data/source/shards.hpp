#pragma once
// The samples of an epoch read from several shards (DATA-03) that take turns, `turn` samples each; a shard without
// samples is passed over. Shards have ceil(n / count) samples, the last ones fewer. A pure function and a permutation:
// none is lost and none comes twice, so nothing is repeated to make shards equal.

#include <array>
#include <cstdint>

#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

class Shards {
 public:
  // Input error for more shards than samples.
  Shards(std::uint64_t num_samples, const ShardsConfig& config);
  // index < num_samples.
  std::uint64_t at(std::uint64_t index) const;

 private:
  // Shards of one size that follow each other.
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
