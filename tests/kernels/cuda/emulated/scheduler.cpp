#include "tests/kernels/cuda/emulated/scheduler.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace d9d::cuda::emulated {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t guard_bytes = 64;
constexpr unsigned char poison = 0xff;  // NaN, -1
constexpr unsigned lanes = 32;
// Of a block: its arrays and what the launch asks for.
constexpr std::size_t shared_bytes_max = std::size_t{48} << 10;
constexpr unsigned grid_x_max = 0x7fffffffU, grid_yz_max = 65535;

std::mt19937_64& order() {
  static std::mt19937_64 generator;
  return generator;
}

template <class T>
std::vector<T> shuffled_numbers(T count) {
  std::vector<T> numbers(count);
  std::iota(numbers.begin(), numbers.end(), T{0});
  std::shuffle(numbers.begin(), numbers.end(), order());
  return numbers;
}

enum class Wait { none, block, warp, ended };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  Wait wait = Wait::none;
};

// What lanes give each other; one result is read while the next is collected.
struct Warp {
  std::uint64_t values[2][lanes];
  std::uint64_t round = 0;
  unsigned mask = 0, arrived = 0;
  Place place;
};

struct SharedArray {
  std::unique_ptr<unsigned char[]> memory;
  std::size_t bytes = 0;

  explicit SharedArray(std::size_t size)
      : memory(new unsigned char[size + 2 * guard_bytes + 16]), bytes(size) {
    std::memset(memory.get(), poison, bytes + 2 * guard_bytes + 16);
  }
  unsigned char* data() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.get()) + guard_bytes;
    return reinterpret_cast<unsigned char*>((begin + 15) / 16 * 16);
  }
  bool is_whole() const {
    const auto is_poison = [](unsigned char byte) { return byte == poison; };
    return std::all_of(memory.get(), data(), is_poison) &&
           std::all_of(data() + bytes, data() + bytes + guard_bytes, is_poison);
  }
};

// The block that runs. Its fibers are kept for the next one.
struct Block {
  const std::function<void()>* thread = nullptr;
  std::vector<Fiber> fibers;
  unsigned threads = 0, current = 0, waiting = 0, ended = 0;
  Place place;  // of those that wait
  std::vector<Warp> warps;
  std::map<const void*, SharedArray> shared;
  std::size_t shared_bytes = 0;
  const char* fault = nullptr;
  ucontext_t scheduler;
};

Block& block() {
  static Block one;
  return one;
}

bool operator!=(Place a, Place b) {
  return a.line != b.line || std::strcmp(a.file, b.file) != 0;
}

// Stands still until the scheduler comes back to the fiber.
void pause(Wait reason) {
  Fiber& fiber = block().fibers[block().current];
  fiber.wait = reason;
  swapcontext(&fiber.context, &block().scheduler);
}

// Exceptions do not leave a fiber: the scheduler throws.
void fail(const char* what) {
  block().fault = what;
  pause(Wait::ended);
}

void run_fiber() {
  (*block().thread)();
  ++block().ended;
  pause(Wait::ended);
}

void resume(unsigned thread) {
  Block& b = block();
  b.current = thread;
  threadIdx = {thread, 0, 0};
  b.fibers[thread].wait = Wait::none;
  swapcontext(&b.scheduler, &b.fibers[thread].context);
}

void start_fibers(unsigned threads) {
  Block& b = block();
  b.threads = threads;
  b.waiting = b.ended = 0;
  b.fault = nullptr;
  if (b.fibers.size() < threads) b.fibers.resize(threads);
  b.warps.assign((threads + lanes - 1) / lanes, Warp{});
  b.shared.clear();
  b.shared_bytes = 0;
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = b.fibers[i];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    fiber.context.uc_link = nullptr;
    fiber.wait = Wait::none;
    makecontext(&fiber.context, run_fiber, 0);
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::logic_error("block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) +
                         "): " + what);
}

[[noreturn]] void refuse_deadlock() {
  unsigned of_block = 0, of_warp = 0;
  for (unsigned i = 0; i < block().threads; ++i) {
    of_block += block().fibers[i].wait == Wait::block;
    of_warp += block().fibers[i].wait == Wait::warp;
  }
  refuse("of " + std::to_string(block().threads) + " threads " + std::to_string(of_block) +
         " wait for the block, " + std::to_string(of_warp) + " for their warp, " +
         std::to_string(block().ended) + " have ended: nobody goes on");
}

void run_block() {
  Block& b = block();
  while (b.ended < b.threads) {
    bool went_on = false;
    for (const unsigned thread : shuffled_numbers(b.threads)) {
      if (b.fibers[thread].wait != Wait::none) continue;
      resume(thread);
      if (b.fault != nullptr) refuse(b.fault);
      went_on = true;
    }
    if (!went_on) refuse_deadlock();
  }
  for (const auto& [name, array] : b.shared)
    if (!array.is_whole()) refuse("written beyond the end of its shared memory");
}

// Shared memory of the block that runs, made where its name is new.
SharedArray& shared_array_of(const void* name, std::size_t bytes) {
  Block& b = block();
  const auto [array, is_new] = b.shared.try_emplace(name, bytes);
  if (is_new) b.shared_bytes += bytes;
  return array->second;
}

}  // namespace

void choose_order(std::uint64_t seed) {
  order().seed(seed);
}

namespace {
std::uint64_t& launched() {
  thread_local std::uint64_t count = 0;
  return count;
}
}  // namespace

std::uint64_t launches() {
  return launched();
}

void run(const char* kernel, dim3 grid, unsigned threads, std::size_t shared_bytes,
         const std::function<void()>& thread) try {
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > grid_x_max ||
      grid.y > grid_yz_max || grid.z > grid_yz_max || shared_bytes > shared_bytes_max) {
    throw std::logic_error("a launch that a GPU refuses");
  }
  ++launched();
  gridDim = grid;
  blockDim = {threads, 1, 1};
  block().thread = &thread;
  for (const std::uint64_t index : shuffled_numbers(std::uint64_t{grid.x} * grid.y * grid.z)) {
    const std::uint64_t row = index / grid.x;
    blockIdx = {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(row % grid.y),
                static_cast<unsigned>(row / grid.y)};
    start_fibers(threads);
    shared_array_of(&block(), shared_bytes);
    run_block();
  }
} catch (const std::logic_error& error) {
  throw std::logic_error(std::string(kernel) + ": " + error.what());
}

// A thread that has ended does not count: it should have come.
void wait_for_block(Place place) {
  Block& b = block();
  if (b.waiting == 0) b.place = place;
  if (b.place != place) fail("threads wait at different barriers");
  if (++b.waiting < b.threads) return pause(Wait::block);
  b.waiting = 0;
  for (unsigned i = 0; i < b.threads; ++i) b.fibers[i].wait = Wait::none;
}

const std::uint64_t* exchange(Place place, unsigned mask, std::uint64_t value) {
  Block& b = block();
  const unsigned first = b.current / lanes * lanes, bit = 1U << (b.current % lanes);
  Warp& warp = b.warps[b.current / lanes];
  if (warp.arrived == 0) {
    warp.mask = mask;
    warp.place = place;
  }
  if (warp.mask != mask || (mask & bit) == 0) fail("lanes of a warp wait for different sets of lanes");
  if (warp.place != place) fail("lanes of a warp wait at different places");
  const std::uint64_t round = warp.round % 2;
  warp.values[round][b.current % lanes] = value;
  warp.arrived |= bit;
  if (warp.arrived != mask) {
    pause(Wait::warp);
    return warp.values[round];
  }
  ++warp.round;
  warp.arrived = 0;
  for (unsigned i = first; i < std::min(first + lanes, b.threads); ++i)
    if (b.fibers[i].wait == Wait::warp) b.fibers[i].wait = Wait::none;
  return warp.values[round];
}

void* shared_memory(const void* name, std::size_t bytes) {
  unsigned char* const data = shared_array_of(name, bytes).data();
  if (block().shared_bytes > shared_bytes_max)
    fail("its arrays and the launch's share take more than 48 KiB");
  return data;
}

void* dynamic_shared() {
  return block().shared.at(&block()).data();
}

}  // namespace d9d::cuda::emulated
