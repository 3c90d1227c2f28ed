#pragma once
// Of which pool the memory at an address is, for an allocator that says what it takes and what is given back to it, and
// keeps no notes for others. Any thread.

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/device/memory_pools.hpp"

namespace d9d {

// Input error for one of CUDA's allocators, by torch's name, that does not say it.
void require_told_memory(const std::string& allocator);

class MemoryLedger {
 public:
  // By the calling thread, for the pool that it is in.
  void taken(std::size_t address, std::size_t bytes);
  // By any thread. An address that was taken before the notes began is left out.
  void given_back(std::size_t address);
  PoolCounts counts() const;

 private:
  struct Taken {
    MemoryPool pool;
    std::size_t bytes;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, Taken> taken_;  // by address
  PoolCounts counts_;
};

}  // namespace d9d
