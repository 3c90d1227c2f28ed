#include "runtime/device/memory_ledger.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void require_told_memory(const std::string& allocator) {
  D9D_REQUIRE(
      allocator == "native",
      "the memory of GPUs comes from torch's allocator \"{}\", which does not report its allocations; take "
      "backend:{} out of PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF",
      allocator, allocator);
}

void MemoryLedger::taken(std::size_t address, std::size_t bytes) {
  const Taken taken{PoolScope::current(), bytes};
  const std::lock_guard lock(mutex_);
  if (!taken_.emplace(address, taken).second) return;
  counts_.take(taken.pool, bytes);
}

void MemoryLedger::given_back(std::size_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end()) return;
  counts_.give_back(found->second.pool, found->second.bytes);
  taken_.erase(found);
}

PoolCounts MemoryLedger::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace d9d
