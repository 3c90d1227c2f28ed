#include "runtime/data/source/order/shards.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

Shards::Shards(std::uint64_t num_samples, const ShardsConfig& config)
    : num_samples_(num_samples),
      count_(static_cast<std::uint64_t>(config.count)),
      turn_(static_cast<std::uint64_t>(config.turn)),
      mode_(config.mode),
      largest_(count_ == 0 ? 0 : (num_samples + count_ - 1) / count_) {
  D9D_REQUIRE(config.count >= 1 && config.turn >= 1,
              "data.order.shards: {} shards with turns of {} samples, expected at least 1", config.count,
              config.turn);
  D9D_REQUIRE(count_ <= num_samples, "data.order.shards.count: {} shards of {} samples; give {} at most",
              count_, num_samples, num_samples);
  if (mode_ == ShardMode::sequential) {
    const std::uint64_t smaller = largest_ * count_ - num_samples;
    sizes_ = {Equal{0, count_ - smaller, largest_}, Equal{count_ - smaller, smaller, largest_ - 1}};
  } else {
    const std::uint64_t full = num_samples / largest_;
    sizes_ = {Equal{0, full, largest_}, Equal{full, full < count_ ? 1U : 0U, num_samples % largest_}};
  }
}

// In a round each shard has one turn.
std::uint64_t Shards::read_before(std::uint64_t round) const {
  std::uint64_t samples = 0;
  for (const Equal& shards : sizes_) samples += shards.count * std::min(shards.size, round * turn_);
  return samples;
}

std::uint64_t Shards::sample_of(std::uint64_t shard, std::uint64_t number) const {
  return mode_ == ShardMode::sequential ? number * count_ + shard : shard * largest_ + number;
}

std::uint64_t Shards::at(std::uint64_t index) const {
  D9D_CHECK(index < num_samples_, "sample {} of {} in shards", index, num_samples_);
  std::uint64_t round = 0, beyond = (largest_ - 1) / turn_ + 1;  // read_before(round) <= index < of beyond
  while (beyond - round > 1) {
    const std::uint64_t middle = round + (beyond - round) / 2;
    (read_before(middle) <= index ? round : beyond) = middle;
  }
  std::uint64_t left = index - read_before(round);
  const std::uint64_t begin = round * turn_;
  for (const Equal& shards : sizes_) {
    const std::uint64_t turn = shards.size > begin ? std::min(shards.size - begin, turn_) : 0;
    if (left < shards.count * turn) return sample_of(shards.first + left / turn, begin + left % turn);
    left -= shards.count * turn;
  }
  D9D_CHECK(false, "sample {} is in none of {} shards", index, count_);
}

}  // namespace d9d
