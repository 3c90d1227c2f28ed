#include "runtime/data/source/buffer_sorted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::int64_t key_of(std::uint64_t item) {
  return static_cast<std::int64_t>(item * 37 % 101);
}

std::vector<std::uint64_t> epoch_of(BufferSortedOrder& order, std::uint64_t epoch, std::uint64_t n) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(order.item_at(epoch * n + i));
  return out;
}

TEST(BufferSortedOrder, GivesEveryItemOncePerEpochWithinItsBuffer) {
  BufferSortedOrder order({50, 16, 4, 1}, key_of);

  const auto items = epoch_of(order, 0, 50);

  EXPECT_EQ(std::set(items.begin(), items.end()).size(), 50u);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(items[i] / 16, i / 16);
}

TEST(BufferSortedOrder, FillsPacksWithNeighboursByKey) {
  BufferSortedOrder order({64, 64, 8, 1}, key_of);
  std::vector<std::int64_t> sorted;
  for (std::uint64_t i = 0; i < 64; ++i) sorted.push_back(key_of(i));
  std::ranges::sort(sorted);

  const auto items = epoch_of(order, 0, 64);

  std::set<std::int64_t> firsts;
  for (std::size_t pack = 0; pack < 8; ++pack) {
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < 8; ++i) keys.push_back(key_of(items[pack * 8 + i]));
    EXPECT_FALSE(std::ranges::is_sorted(keys));
    std::ranges::sort(keys);
    firsts.insert(keys[0]);
    const auto at = std::ranges::find(sorted, keys[0]) - sorted.begin();
    EXPECT_EQ(at % 8, 0);
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), sorted.begin() + at));
  }
  EXPECT_EQ(firsts.size(), 8u);
}

TEST(BufferSortedOrder, DoesNotDependOnWhoAskedForWhatBefore) {
  BufferSortedOrder all({50, 16, 4, 1}, key_of);
  const auto items = epoch_of(all, 0, 50);

  for (const std::uint64_t index : {49, 3, 17, 0, 33, 16}) {
    BufferSortedOrder fresh({50, 16, 4, 1}, key_of);
    EXPECT_EQ(fresh.item_at(index), items[index]);
    EXPECT_EQ(all.item_at(index), items[index]);
  }
}

TEST(BufferSortedOrder, ChangesWithEpochAndSeed) {
  BufferSortedOrder order({50, 16, 4, 1}, key_of);
  BufferSortedOrder other({50, 16, 4, 2}, key_of);

  EXPECT_NE(epoch_of(order, 0, 50), epoch_of(order, 1, 50));
  EXPECT_NE(epoch_of(order, 0, 50), epoch_of(other, 0, 50));
  EXPECT_THROW(BufferSortedOrder({50, 0, 4, 1}, key_of), Error);
}

TEST(BufferSortedOrder, BreaksTiesAtRandom) {
  BufferSortedOrder order({8, 8, 1, 1}, [](std::uint64_t) { return 0; });
  BufferSortedOrder packs({8, 8, 8, 1}, [](std::uint64_t) { return 0; });

  EXPECT_NE(epoch_of(order, 0, 8), epoch_of(packs, 0, 8));
  EXPECT_NE(epoch_of(order, 0, 8), epoch_of(order, 1, 8));
}

}  // namespace
}  // namespace d9d
