// Whoever holds a token: each query sees each key that it has to exactly once.
#include "runtime/nn/shard/token_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/parameter_text.hpp"

namespace d9d {
namespace {

std::vector<std::int64_t> positions(TokenOrder order, int rank, int ranks, std::int64_t length) {
  std::vector<std::int64_t> held;
  for (const TokenRange& range : tokens_of(order, rank, ranks, length)) {
    for (std::int64_t i = 0; i < range.count; ++i) held.push_back(range.first + i);
  }
  return held;
}

// All (query, key) that the ranks' blocks cover, as global positions; a pair twice is a failure.
std::set<std::pair<std::int64_t, std::int64_t>> covered(TokenOrder order, int ranks, std::int64_t length,
                                                        const Reach& reach = {}) {
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int owner = 0; owner < ranks; ++owner) {
      const auto queries = positions(order, rank, ranks, length),
                 keys = positions(order, owner, ranks, length);
      for (const VisibleBlock& block : visible_blocks(order, rank, owner, ranks, length / ranks, reach)) {
        for (std::int64_t i = 0; i < block.queries.count; ++i) {
          const auto first = kernels::first_key(block.mask, i);
          const auto end = kernels::end_of_keys(block.mask, i, block.keys.count);
          EXPECT_LT(first, end) << "a query of a block sees none of its keys";
          for (std::int64_t j = first; j < end; ++j) {
            const bool is_new = pairs
                                    .insert({queries[static_cast<std::size_t>(block.queries.first + i)],
                                             keys[static_cast<std::size_t>(block.keys.first + j)]})
                                    .second;
            EXPECT_TRUE(is_new);
          }
        }
      }
    }
  }
  return pairs;
}

class Order : public testing::TestWithParam<TokenOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, Order, testing::Values(TokenOrder::zigzag, TokenOrder::contiguous));

TEST_P(Order, BlocksCoverTheCausalTriangleOnce) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const std::int64_t length = 3 * length_unit(GetParam(), ranks);

    const auto pairs = covered(GetParam(), ranks, length);

    EXPECT_EQ(static_cast<std::int64_t>(pairs.size()), length * (length + 1) / 2);
    for (const auto& [query, key] : pairs) EXPECT_LE(key, query);
  }
}

TEST_P(Order, BlocksCoverTheWindowsOnce) {
  for (const int ranks : {1, 2, 3, 4}) {
    const std::int64_t length = 3 * length_unit(GetParam(), ranks);
    for (std::int64_t window = 1; window <= length; ++window) {
      const auto pairs = covered(GetParam(), ranks, length, {window});

      EXPECT_EQ(static_cast<std::int64_t>(pairs.size()), window * length - window * (window - 1) / 2);
      for (const auto& [query, key] : pairs) {
        EXPECT_LE(key, query);
        EXPECT_LT(query - key, window);
      }
    }
  }
}

TEST_P(Order, Mod10BlocksCoverBothSidesOnce) {
  for (const int ranks : {1, 2, 3, 4}) {
    const std::int64_t length = 3 * length_unit(GetParam(), ranks);
    EXPECT_EQ(std::ssize(covered(GetParam(), ranks, length, {0, false})), length * length);
    for (std::int64_t window = 1; window <= length; ++window) {
      const auto pairs = covered(GetParam(), ranks, length, {window, false});

      const std::int64_t most = std::min(window, length - 1);
      EXPECT_EQ(std::ssize(pairs), (2 * most + 1) * length - most * (most + 1));
      for (const auto& [query, key] : pairs) EXPECT_LE(std::abs(query - key), window);
    }
  }
}

TEST_P(Order, OfItsOwnKeysEachQuerySeesItsOwnFirst) {
  for (const Reach& reach : {Reach{0}, {1}, {5}, {9}, {0, false}, {1, false}, {5, false}, {9, false}}) {
    std::set<std::int64_t> started;
    for (const VisibleBlock& block : visible_blocks(GetParam(), 1, 1, 3, 8, reach)) {
      const bool own = block.queries == block.keys;
      for (std::int64_t i = 0; i < block.queries.count; ++i) {
        const bool is_new = started.insert(block.queries.first + i).second;
        EXPECT_EQ(is_new, own);
      }
    }
    EXPECT_EQ(started.size(), 8U);
  }
}

TEST_P(Order, EveryTokenLiesOnOneRankAndRanksHoldEquallyMany) {
  std::set<std::int64_t> all;
  for (int rank = 0; rank < 4; ++rank) {
    const auto held = positions(GetParam(), rank, 4, 32);
    EXPECT_EQ(held.size(), 8U);
    EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
    all.insert(held.begin(), held.end());
  }
  EXPECT_EQ(all.size(), 32U);
}

TEST(Zigzag, GivesEveryRankTheSameWork) {
  const auto work = [](int rank) {
    std::int64_t products = 0;
    for (int owner = 0; owner < 4; ++owner) {
      const auto block = visible_blocks(TokenOrder::zigzag, rank, owner, 4, 16, {}).at(0);
      products += block.queries.count * block.keys.count / (owner == rank ? 2 : 1);
    }
    return products;
  };

  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(work(rank), work(0));
}

TEST(TokenOrder, CountsTheKeysBeforeAPosition) {
  const auto held = tokens_of(TokenOrder::zigzag, 1, 2, 16);                      // 4 to 11
  const std::vector<TokenRange> outer = tokens_of(TokenOrder::zigzag, 0, 2, 16);  // 0 to 3, 12 to 15

  EXPECT_EQ(keys_before(held, {0, 8}, 3), 0);
  EXPECT_EQ(keys_before(held, {0, 8}, 6), 2);
  EXPECT_EQ(keys_before(held, {4, 4}, 6), 0) << "of the keys from the fifth on";
  EXPECT_EQ(keys_before(outer, {0, 8}, 9), 4);
  EXPECT_EQ(keys_before(outer, {0, 4}, 14), 4) << "at most all of them";
}

}  // namespace
}  // namespace d9d
