#include "runtime/data/source/order/shards.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Indices = std::vector<std::uint64_t>;

// The samples of a shard by the words of DATA-03, without padding.
Indices shard_of(std::uint64_t samples, std::uint64_t count, ShardMode mode, std::uint64_t shard) {
  const std::uint64_t block = (samples + count - 1) / count;
  Indices out;
  for (std::uint64_t i = 0; i < block; ++i) {
    const std::uint64_t index = mode == ShardMode::sequential ? i * count + shard : shard * block + i;
    if (index < samples) out.push_back(index);
  }
  return out;
}

// The shards in turn, taken apart one turn after the other.
Indices in_turns(std::uint64_t samples, const ShardsConfig& config) {
  std::vector<Indices> left;
  for (std::int64_t shard = 0; shard < config.count; ++shard) {
    left.push_back(shard_of(samples, static_cast<std::uint64_t>(config.count), config.mode,
                            static_cast<std::uint64_t>(shard)));
  }
  Indices out;
  while (out.size() < samples) {
    for (Indices& shard : left) {
      const auto end = shard.begin() + std::min(std::ssize(shard), static_cast<std::ptrdiff_t>(config.turn));
      out.insert(out.end(), shard.begin(), end);
      shard.erase(shard.begin(), end);
    }
  }
  return out;
}

Indices all_of(std::uint64_t samples, const ShardsConfig& config) {
  const Shards shards(samples, config);
  Indices out;
  for (std::uint64_t i = 0; i < samples; ++i) out.push_back(shards.at(i));
  return out;
}

TEST(Shards, TakeTurns) {
  EXPECT_THAT(all_of(7, {2, ShardMode::chunked, 1}), ElementsAre(0, 4, 1, 5, 2, 6, 3));
  EXPECT_THAT(all_of(7, {2, ShardMode::chunked, 3}), ElementsAre(0, 1, 2, 4, 5, 6, 3));
  EXPECT_THAT(all_of(7, {3, ShardMode::sequential, 1}), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(all_of(7, {3, ShardMode::sequential, 2}), ElementsAre(0, 3, 1, 4, 2, 5, 6));
}

TEST(Shards, AreReadWholeInEveryShape) {
  for (std::uint64_t samples = 1; samples <= 24; ++samples) {
    for (std::int64_t count = 1; count <= static_cast<std::int64_t>(samples); ++count) {
      for (const std::int64_t turn : {1, 2, 3, 7, 40}) {
        for (const ShardMode mode : {ShardMode::sequential, ShardMode::chunked}) {
          const ShardsConfig config{count, mode, turn};
          ASSERT_EQ(all_of(samples, config), in_turns(samples, config))
              << samples << " samples, " << count << " shards, turns of " << turn;
        }
      }
    }
  }
}

// A data rank has global_batch_size / ranks consecutive samples of a step (batch_maths.hpp).
TEST(Shards, WithTurnsOfARanksSamplesAreOneARank) {
  constexpr std::uint64_t ranks = 3, of_rank = 4, steps = 5;
  for (const ShardMode mode : {ShardMode::sequential, ShardMode::chunked}) {
    const Shards shards(ranks * of_rank * steps, {ranks, mode, of_rank});
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      Indices read;
      for (std::uint64_t step = 0; step < steps; ++step) {
        for (std::uint64_t i = 0; i < of_rank; ++i)
          read.push_back(shards.at((step * ranks + rank) * of_rank + i));
      }
      EXPECT_EQ(read, shard_of(ranks * of_rank * steps, ranks, mode, rank));
    }
  }
}

TEST(Shards, AreFoundInLargeDataWithoutATable) {
  constexpr std::uint64_t samples = (std::uint64_t{1} << 40) + 5;
  const Shards shards(samples, {1000, ShardMode::chunked, 16});

  EXPECT_EQ(shards.at(16), (samples + 999) / 1000) << "the second shard's turn";
  EXPECT_EQ(shards.at(16000), 16U);
}

TEST(Shards, AreNotMoreThanSamples) {
  EXPECT_THAT(test::error_of(
                  [] {
                    Shards(3, {4, ShardMode::chunked, 1});
                  },
                  ErrorKind::input),
              HasSubstr("data.order.shards.count: 4 shards of 3 samples; give 3 at most"));
}

}  // namespace
}  // namespace d9d
