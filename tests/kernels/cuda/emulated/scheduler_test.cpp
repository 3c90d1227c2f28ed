// The emulated grid itself: what a GPU does with a kernel, and what is wrong with one.
#include "tests/kernels/cuda/emulated/scheduler.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "tests/kernels/cuda/emulated/grid.cuh"
#include "tests/support/error_of.hpp"

namespace d9d::cuda::emulated {
namespace {

struct Values;

std::string refusal_of(unsigned threads, void (*kernel)(), std::size_t shared_bytes = 0) {
  return test::error_of<std::logic_error>([&] { launch(kernel, 1, threads, shared_bytes, nullptr); });
}

void reverse(int* data) {
  int* const shared = shared_array<int, 96, Values>();
  shared[threadIdx.x] = data[blockIdx.x * 96 + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * 96 + threadIdx.x] = shared[95 - threadIdx.x];
}

TEST(EmulatedGrid, ThreadsMeetAtBarriersInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    choose_order(seed);
    std::vector<int> data(3 * 96);
    std::iota(data.begin(), data.end(), 0);

    launch(reverse, 3, 96, 0, nullptr, data.data());

    for (int i = 0; i < 3 * 96; ++i) EXPECT_EQ(data[static_cast<std::size_t>(i)], i / 96 * 96 + 95 - i % 96);
  }
}

void sum_lanes(unsigned* sums, unsigned* odd) {
  unsigned sum = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  sums[threadIdx.x] = sum;
  odd[threadIdx.x] = __ballot_sync(0xffffffffU, threadIdx.x % 2);
  sums[threadIdx.x] += __shfl_sync(0xffffffffU, threadIdx.x, 3);
}

TEST(EmulatedGrid, LanesOfAWarpExchangeValues) {
  choose_order(1);
  std::vector<unsigned> sums(64), odd(64);

  launch(sum_lanes, 1, 64, 0, nullptr, sums.data(), odd.data());

  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 496 + 3 : 496 + 32 * 32 + 35);
  EXPECT_THAT(odd, testing::Each(0xaaaaaaaaU));
}

// What the order of blocks and threads decides.
void take_turns(int* next, int* turns) {
  turns[blockIdx.x * 2 + threadIdx.x] = (*next)++;
}

TEST(EmulatedGrid, SeedsGiveOrdersOfBlocksAndThreads) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    choose_order(seed);
    int next = 0;
    std::vector<int> turns(6);
    launch(take_turns, 3, 2, 0, nullptr, &next, turns.data());
    orders.insert(turns);
  }
  EXPECT_GT(orders.size(), 10U);
}

TEST(EmulatedGrid, RunsEachBlockOfThreeDimensionsOnce) {
  std::vector<int> runs(2 * 3 * 4, 0);

  launch(
      +[](int* data) { ++data[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x]; },
      dim3(2, 3, 4), 1, 0, nullptr, runs.data());

  EXPECT_THAT(runs, testing::Each(1));
}

TEST(EmulatedGrid, SharedMemoryIsPoisonAtTheBeginningOfEachBlock) {
  std::vector<float> seen(4, 0.0F);

  launch(
      +[](float* data) {
        float* const shared = shared_array<float, 1, Values>();
        auto* const dynamic = static_cast<float*>(dynamic_shared());
        data[2 * blockIdx.x] = *shared;
        data[2 * blockIdx.x + 1] = *dynamic;
        *shared = *dynamic = 1;
      },
      2, 1, sizeof(float), nullptr, seen.data());

  for (const float value : seen) EXPECT_TRUE(std::isnan(value));
}

TEST(EmulatedGrid, ABarrierThatSomeThreadsDoNotReachIsRefused) {
  EXPECT_THAT(refusal_of(
                  64,
                  +[] {
                    if (threadIdx.x < 40) __syncthreads();
                  }),
              testing::HasSubstr("of 64 threads 40 wait for the block, 0 for their warp, 24 have ended"));
}

TEST(EmulatedGrid, AShuffleWithoutSomeOfItsLanesIsRefused) {
  EXPECT_THAT(refusal_of(
                  40, +[] { __shfl_xor_sync(0xffffffffU, 1, 1); }),
              testing::HasSubstr("8 for their warp, 32 have ended"));
  EXPECT_THAT(refusal_of(
                  32, +[] { __syncwarp(threadIdx.x < 16 ? 0xffffU : 0xffffffffU); }),
              testing::HasSubstr("different sets of lanes"));
}

// Kernels that are wrong; outside of the tests' macros, which are one line of the program.
void vote_or_wait() {
  if (threadIdx.x < 16)
    __ballot_sync(0xffffffffU, 1);
  else
    __syncwarp();
}
void wait_here_or_there() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

TEST(EmulatedGrid, ThoseThatWaitForEachOtherAreAtOnePlaceOfTheProgram) {
  EXPECT_THAT(refusal_of(32, vote_or_wait), testing::HasSubstr("lanes of a warp wait at different places"));
  EXPECT_THAT(refusal_of(64, wait_here_or_there), testing::HasSubstr("threads wait at different barriers"));
}

TEST(EmulatedGrid, ArraysAndTheShareOfTheLaunchTogetherFitABlock) {
  const auto takes_1_kib = +[] { *shared_array<float, 256, Values>() = 1; };

  EXPECT_EQ(refusal_of(1, takes_1_kib, 47 << 10), "no error");
  EXPECT_THAT(refusal_of(1, takes_1_kib, (47 << 10) + 16), testing::HasSubstr("more than 48 KiB"));
}

TEST(EmulatedGrid, AWriteBeyondSharedMemoryIsRefused) {
  EXPECT_THAT(refusal_of(
                  1, +[] { static_cast<float*>(dynamic_shared())[4] = 1; }, 16),
              testing::HasSubstr("beyond the end of its shared memory"));
}

TEST(EmulatedGrid, ALaunchThatAGpuRefusesIsRefused) {
  EXPECT_THAT(refusal_of(
                  1025, +[] {}),
              testing::HasSubstr("a launch that a GPU refuses"));
  for (const dim3 grid : {dim3(0x80000000U), dim3(1, 65536), dim3(1, 1, 65536)})
    EXPECT_THROW(launch(
                     +[] {}, grid, 1, 0, nullptr),
                 std::logic_error);
}

}  // namespace
}  // namespace d9d::cuda::emulated
