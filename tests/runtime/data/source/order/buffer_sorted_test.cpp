#include "runtime/data/source/order/buffer_sorted.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using Indices = std::vector<std::uint64_t>;

BufferSorted sorted_by(const BufferSorted::SortKey& key, std::uint64_t samples, SortedOrderConfig sizes,
                       std::uint64_t seed = 1) {
  return {{.num_samples = samples, .sizes = sizes, .seed = seed}, key};
}

std::int64_t mixed_key(std::uint64_t index) {
  return static_cast<std::int64_t>(index * 37 % 101);
}

Indices from_to(const BufferSorted& order, std::uint64_t begin, std::uint64_t end) {
  Indices out;
  for (std::uint64_t i = begin; i < end; ++i) out.push_back(order.at(i));
  return out;
}

TEST(BufferSorted, GivesEverySampleOfAnEpochOnceWithinItsBuffer) {
  const BufferSorted order = sorted_by(mixed_key, 50, {16, 4});

  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const Indices samples = from_to(order, epoch * 50, epoch * 50 + 50);
    EXPECT_EQ(std::set(samples.begin(), samples.end()).size(), 50U);
    for (std::uint64_t i = 0; i < 50; ++i) {
      EXPECT_EQ(samples[i] / 50, epoch);
      EXPECT_EQ(samples[i] % 50 / 16, i / 16);
    }
  }
}

TEST(BufferSorted, FillsPacksWithNeighboursByKeyAndShufflesThem) {
  const BufferSorted order = sorted_by(mixed_key, 64, {64, 8});
  std::vector<std::int64_t> sorted;
  for (std::uint64_t i = 0; i < 64; ++i) sorted.push_back(mixed_key(i));
  std::ranges::sort(sorted);

  const Indices samples = from_to(order, 0, 64);

  std::vector<std::ptrdiff_t> packs;
  for (std::size_t pack = 0; pack < 8; ++pack) {
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < 8; ++i) keys.push_back(mixed_key(samples[pack * 8 + i]));
    EXPECT_FALSE(std::ranges::is_sorted(keys));
    std::ranges::sort(keys);
    const auto at = std::ranges::find(sorted, keys[0]) - sorted.begin();
    EXPECT_EQ(at % 8, 0);
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), sorted.begin() + at));
    packs.push_back(at);
  }
  EXPECT_FALSE(std::ranges::is_sorted(packs));
  EXPECT_EQ(std::set(packs.begin(), packs.end()).size(), 8U);
}

TEST(BufferSorted, DoesNotDependOnWhoAskedForWhatBefore) {
  // More buffers than are kept, from several threads.
  constexpr std::uint64_t samples = 900;
  const BufferSorted order = sorted_by(mixed_key, samples, {4, 2});
  const Indices expected = from_to(sorted_by(mixed_key, samples, {4, 2}), 0, 2 * samples);

  std::vector<Indices> got(3, Indices(expected.size()));
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 2 * samples; ++i) {
        const std::uint64_t index = (i * 7 + thread * 611) % (2 * samples);
        got[thread][index] = order.at(index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const Indices& indices : got) EXPECT_EQ(indices, expected);
}

TEST(BufferSorted, ChangesWithEpochAndSeed) {
  const BufferSorted order = sorted_by(mixed_key, 50, {16, 4});
  Indices second = from_to(order, 50, 100);
  for (std::uint64_t& index : second) index -= 50;

  EXPECT_NE(from_to(order, 0, 50), second);
  EXPECT_NE(from_to(order, 0, 50), from_to(sorted_by(mixed_key, 50, {16, 4}, 2), 0, 50));
}

TEST(BufferSorted, BreaksTiesAtRandom) {
  const auto same = [](std::uint64_t) { return 0; };
  std::set<std::set<std::uint64_t>> firsts;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Indices pack = from_to(sorted_by(same, 16, {16, 4}, seed), 0, 4);
    firsts.insert({pack.begin(), pack.end()});
  }

  EXPECT_GT(firsts.size(), 4U) << "samples of equal length meet others in every order";
}

TEST(BufferSorted, AsksForEachKeyOnceWhenReadInOrder) {
  int asked = 0;
  const auto key = [&asked](std::uint64_t) { return ++asked; };
  const BufferSorted order = sorted_by(key, 100, {32, 8});

  from_to(order, 0, 100);

  EXPECT_EQ(asked, 100);
}

TEST(BufferSorted, RefusesPacksLargerThanABuffer) {
  EXPECT_THAT(
      test::error_of(
          [] {
            sorted_by(mixed_key, 50, {4, 16});
          },
          ErrorKind::input),
      HasSubstr(
          "data.order.sorted: packs of 16 in buffers of 4, so that nothing is sorted; lower pack_size"));
}

}  // namespace
}  // namespace d9d
