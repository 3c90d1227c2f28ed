#include "runtime/data/corpus/permutation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace d9d {
namespace {

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (std::uint64_t n = 1; n <= 300; ++n) {
    const Permutation permutation(n, 5, n);
    std::vector<bool> seen(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t to = permutation(i);
      ASSERT_LT(to, n);
      ASSERT_FALSE(seen[to]) << to << " twice for n = " << n;
      seen[to] = true;
    }
  }
}

TEST(Permutation, StaysInsideHugeDomainsAndDoesNotRepeat) {
  const std::uint64_t n = (std::uint64_t{1} << 62) + 12345;
  const Permutation permutation(n, 1, 0);
  std::set<std::uint64_t> seen;

  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_LT(permutation(i * 4'600'000'000'000'000ULL), n);
    seen.insert(permutation(i * 4'600'000'000'000'000ULL));
  }

  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Permutation, DiffersBetweenSeedsAndEpochs) {
  std::set<std::vector<std::uint64_t>> orders;

  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
      const Permutation permutation(50, seed, epoch);
      std::vector<std::uint64_t> order;
      for (std::uint64_t i = 0; i < 50; ++i) order.push_back(permutation(i));
      orders.insert(order);
    }
  }

  EXPECT_EQ(orders.size(), 100u);
}

TEST(Permutation, PutsEveryItemEverywhereEquallyOften) {
  // 5 items, 20000 orders: each of the 25 counts is binomial with mean 4000 and deviation 57.
  constexpr int num_orders = 20000;
  std::vector<int> counts(25);

  for (std::uint64_t epoch = 0; epoch < num_orders; ++epoch) {
    const Permutation permutation(5, 3, epoch);
    for (std::uint64_t i = 0; i < 5; ++i) ++counts[i * 5 + permutation(i)];
  }

  for (const int count : counts) EXPECT_LT(std::abs(count - num_orders / 5), 5 * 57);
}

TEST(EpochOrder, GoesThroughTheDataOncePerEpochInAnotherOrder) {
  const EpochOrder order(100, true, 7);
  std::vector<std::uint64_t> first, second;

  for (std::uint64_t i = 0; i < 100; ++i) {
    first.push_back(order.item_at(i));
    second.push_back(order.item_at(100 + i));
  }

  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 100u);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 100u);
  EXPECT_NE(first, second);
}

TEST(EpochOrder, KeepsTheOrderOfTheDataWhenItIsNotShuffled) {
  const EpochOrder order(3, false, 7);

  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(order.item_at(i), i % 3);
}

}  // namespace
}  // namespace d9d
