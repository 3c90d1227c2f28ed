#include "runtime/data/source/sharding.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::vector<std::uint64_t> items_of(const Shard& shard) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < shard.size(); ++i) out.push_back(shard.item_at(i));
  return out;
}

using Items = std::vector<std::uint64_t>;

TEST(Shard, TakesEveryNthItemOrABlock) {
  EXPECT_EQ(items_of(Shard({7, 3, 1, ShardMode::sequential, false})), (Items{1, 4}));
  EXPECT_EQ(items_of(Shard({7, 3, 0, ShardMode::sequential, false})), (Items{0, 3, 6}));
  EXPECT_EQ(items_of(Shard({7, 3, 1, ShardMode::chunked, false})), (Items{3, 4, 5}));
  EXPECT_EQ(items_of(Shard({7, 3, 2, ShardMode::chunked, false})), (Items{6}));
}

TEST(Shard, RepeatsTheLastItemWhenPadded) {
  EXPECT_EQ(items_of(Shard({7, 3, 1, ShardMode::sequential, true})), (Items{1, 4, 6}));
  EXPECT_EQ(items_of(Shard({7, 3, 2, ShardMode::chunked, true})), (Items{6, 6, 6}));
  EXPECT_EQ(items_of(Shard({1, 3, 2, ShardMode::chunked, true})), (Items{0}));
}

TEST(Shard, OfEverySizeAndModeTogetherHoldEachItemOnce) {
  for (const ShardMode mode : {ShardMode::sequential, ShardMode::chunked}) {
    for (std::uint64_t n = 0; n < 20; ++n) {
      for (std::uint64_t shards = 1; shards < 7; ++shards) {
        std::multiset<std::uint64_t> all;
        for (std::uint64_t shard = 0; shard < shards; ++shard) {
          for (const std::uint64_t item : items_of(Shard({n, shards, shard, mode, false}))) all.insert(item);
        }
        ASSERT_EQ(all.size(), n);
        ASSERT_EQ(std::set(all.begin(), all.end()).size(), n);
      }
    }
  }
}

TEST(Shard, RefusesAShardThatIsNotOneOfThem) {
  EXPECT_THROW(Shard({7, 3, 3}), Error);
  EXPECT_THROW(Shard({7, 0, 0}), Error);
  EXPECT_THROW(Shard({0, 1, 0}), Error);
}

}  // namespace
}  // namespace d9d
