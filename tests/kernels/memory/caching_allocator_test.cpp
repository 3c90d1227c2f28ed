#include "kernels/memory/caching_allocator.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

using d9d::kernels::CachingAllocator;

namespace {

constexpr std::size_t mib = 1 << 20;

std::uintptr_t address(const c10::DataPtr& data) {
  return reinterpret_cast<std::uintptr_t>(data.get());
}

// Bytes of this process that have memory.
std::size_t resident() {
  std::size_t pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(CachingAllocator, GivesTheSameMemoryAgain) {
  CachingAllocator allocator(64 * mib);
  const auto first = address(allocator.allocate(5 * mib));

  const auto second = allocator.allocate(5 * mib - 100);

  EXPECT_EQ(address(second), first);
  EXPECT_EQ(allocator.stats().blocks_mapped, 1U);
}

TEST(CachingAllocator, GivesTheBlockThatWasFreedLast) {
  CachingAllocator allocator(64 * mib);
  auto early = allocator.allocate(5 * mib), late = allocator.allocate(5 * mib);
  const auto freed_last = address(late);
  early.clear();
  late.clear();

  EXPECT_EQ(address(allocator.allocate(5 * mib)), freed_last);
  EXPECT_EQ(address(allocator.allocate(5 * mib)), freed_last);
}

TEST(CachingAllocator, GivesWritableAlignedMemoryThatDoesNotOverlap) {
  CachingAllocator allocator(64 * mib);
  std::vector<c10::DataPtr> blocks;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, 64 * 1024UL, mib, 3 * mib, 2 * mib}) {
    blocks.push_back(allocator.allocate(bytes));
    EXPECT_EQ(address(blocks.back()) % 64, 0U);
    std::memset(blocks.back().get(), static_cast<int>(blocks.size()), bytes);
  }

  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(static_cast<const char*>(blocks[i].get())[0], static_cast<char>(i + 1));
  }
}

TEST(CachingAllocator, TakesBlocksBackFromOtherThreads) {
  CachingAllocator allocator(64 * mib);
  auto block = allocator.allocate(mib);

  std::thread([moved = std::move(block)]() mutable { moved.clear(); }).join();

  EXPECT_EQ(allocator.stats().bytes_in_use, 0U);
  EXPECT_GE(allocator.stats().bytes_cached, mib);
}

TEST(CachingAllocator, KeepsNoMoreThanItsLimitAndDropsTheOldest) {
  CachingAllocator allocator(5 * mib);
  { const auto old = allocator.allocate(2 * mib), recent = allocator.allocate(3 * mib); }

  EXPECT_LE(allocator.stats().bytes_cached, 5 * mib);
  const auto mapped = allocator.stats().blocks_mapped;
  const auto again = allocator.allocate(2 * mib);
  EXPECT_EQ(allocator.stats().blocks_mapped, mapped);
}

TEST(CachingAllocator, CountsTheMostThatWasInUse) {
  CachingAllocator allocator(0);
  { const auto a = allocator.allocate(mib), b = allocator.allocate(mib); }
  const auto c = allocator.allocate(mib);

  EXPECT_GE(allocator.stats().bytes_in_use_max, 2 * mib);
  EXPECT_LT(allocator.stats().bytes_in_use, 2 * mib);
  EXPECT_EQ(allocator.stats().bytes_cached, 0U);
}

TEST(CachingAllocator, NeedsNoMemoryForNothing) {
  CachingAllocator allocator(0);

  EXPECT_EQ(allocator.allocate(0).get(), nullptr);
}

// As torch's own ops do for their scratch memory.
TEST(CachingAllocator, GivesMemoryThatNoTensorHolds) {
  CachingAllocator allocator(64 * mib);

  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, 64 * 1024UL, 3 * mib}) {
    void* memory = allocator.raw_allocate(bytes);
    if (bytes > 0) std::memset(memory, 1, bytes);
    allocator.raw_deallocate(memory);
  }

  EXPECT_EQ(allocator.stats().bytes_in_use, 0U);
}

// The first values of a model that is loaded are never touched.
TEST(CachingAllocator, TakesNoMemoryForWhatNobodyTouches) {
  CachingAllocator allocator(0);
  std::vector<c10::DataPtr> blocks;
  const std::size_t before = resident();

  for (int i = 0; i < 64; ++i) blocks.push_back(allocator.allocate(4 * mib));
  blocks.clear();

  EXPECT_LT(resident(), before + 16 * mib);
}

// The offset of the data would take a huge page more for the last bytes of each tensor.
TEST(CachingAllocator, TakesHardlyMoreMemoryThanIsUsed) {
  CachingAllocator allocator(0);
  std::vector<c10::DataPtr> blocks;
  const std::size_t before = resident();

  for (int i = 0; i < 32; ++i) {
    blocks.push_back(allocator.allocate(4 * mib));
    std::memset(blocks.back().get(), 1, 4 * mib);
  }

  EXPECT_LT(resident() - before, 32 * 4 * mib * 5 / 4);
}
