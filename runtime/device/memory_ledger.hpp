#pragma once
// Which pool the memory at each address counts for. It is for an allocator that reports each allocation and
// each free but does not keep our pools itself. Thread-safe.

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/device/memory_pools.hpp"

namespace d9d {

// Throws an input error if this allocator of CUDA memory (torch's name) does not report its allocations.
void require_told_memory(const std::string& allocator);

class MemoryLedger {
 public:
  // Counts an allocation for the pool of the calling thread (PoolScope).
  void taken(std::size_t address, std::size_t bytes);
  // Counts a free, by any thread. Ignores addresses that were allocated before the ledger began.
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
