#pragma once
// Runs the threads of a CUDA grid on one thread of the host: those of a block are fibers, which are switched where they
// wait for each other, and blocks run one after the other. Both come in an order of a seed, so that a kernel that
// relies on an order gives other results. Shared memory begins as NaN and is fenced.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/kernels/cuda/emulated/types.hpp"

// Of the thread that runs.
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace d9d::cuda::emulated {

// Chooses the order of blocks and threads from here on.
void choose_order(std::uint64_t seed);

// Runs the kernel for all threads. std::logic_error that says who waits for what if threads of a block or lanes of a
// warp wait at different places or for ever, if a block takes more shared memory than a GPU gives without being asked,
// or if that was written beyond its end.
void run(const char* kernel, dim3 grid, unsigned threads, std::size_t shared_bytes,
         const std::function<void()>& thread);

// How often this thread ran a kernel.
std::uint64_t launches();

// Where a thread calls: those that wait for each other have to be at the same place of the program.
struct Place {
  const char* file = "";
  int line = 0;
};

// Called by threads of the grid.
void wait_for_block(Place place);
// What the lanes of the mask gave, by lane.
const std::uint64_t* exchange(Place place, unsigned mask, std::uint64_t value);
void* shared_memory(const void* name, std::size_t bytes);
void* dynamic_shared();

}  // namespace d9d::cuda::emulated
