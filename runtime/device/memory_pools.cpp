#include "runtime/device/memory_pools.hpp"

#include <numeric>
#include <utility>

namespace d9d {
namespace {

MemoryPool& pool_of_thread() {
  thread_local MemoryPool pool = MemoryPool::activations;
  return pool;
}

std::uint64_t& bytes_of(PoolBytes& all, MemoryPool pool) {
  return all[static_cast<std::size_t>(pool)];
}

}  // namespace

const char* name_of(MemoryPool pool) {
  switch (pool) {
    case MemoryPool::state:
      return "state";
    case MemoryPool::communication:
      return "communication";
    case MemoryPool::activations:
      break;
  }
  return "activations";
}

std::uint64_t total_of(const PoolBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

PoolScope::PoolScope(MemoryPool pool) : previous_(std::exchange(pool_of_thread(), pool)) {}

PoolScope::~PoolScope() {
  pool_of_thread() = previous_;
}

MemoryPool PoolScope::current() {
  return pool_of_thread();
}

void PoolCounts::take(MemoryPool pool, std::uint64_t bytes) {
  bytes_of(in_use_, pool) += bytes;
  if (total_of(in_use_) > total_of(at_peak_)) at_peak_ = in_use_;
}

void PoolCounts::give_back(MemoryPool pool, std::uint64_t bytes) {
  bytes_of(in_use_, pool) -= bytes;
}

}  // namespace d9d
