#pragma once
// Keeps the memory of freed CPU tensors for the next ones. Steps ask for the same sizes again and again,
// and glibc returns large blocks to the kernel each time: on a small model with two ranks the page faults
// took 8 % of the time. Blocks are on huge pages if the system allows it.

#include <c10/core/Allocator.h>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

namespace d9d::kernels {

struct AllocatorStats {
  std::size_t bytes_in_use = 0;
  std::size_t bytes_in_use_max = 0;
  std::size_t bytes_cached = 0;   // free, kept for the next tensors
  std::size_t blocks_mapped = 0;  // since the start; constant once the program repeats its sizes
};

// Blocks below 64 KiB come from malloc and are not counted. Thread-safe; a block may be freed by another
// thread. The allocator must outlive its tensors.
class CachingAllocator final : public c10::Allocator {
 public:
  // Keeps at most `bytes_cached_max` of free blocks. The blocks unused longest are returned
  // to the system first.
  explicit CachingAllocator(std::size_t bytes_cached_max);
  ~CachingAllocator() override;

  c10::DataPtr allocate(std::size_t bytes) override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;
  // Needed because some of torch's ops allocate memory without a tensor (gelu).
  c10::DeleterFnPtr raw_deleter() const override;

  AllocatorStats stats() const;
  void release_cached();

 private:
  struct Block;
  class Blocks;
  using Recent = std::list<Block*>;  // free blocks, the one freed last in front

  static void give_back(void* data);
  Block* take(std::size_t size);
  void keep(Block* block);
  void shrink_to(std::size_t bytes);

  const std::size_t bytes_cached_max_;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, Recent::iterator> free_by_size_;
  Recent recent_;
  AllocatorStats stats_;
};

// Makes a CachingAllocator the allocator of all CPU tensors of this process. It is never destroyed,
// because torch keeps tensors until after main. main must call this once, before the first tensor.
CachingAllocator& install_caching_allocator(std::size_t bytes_cached_max);

}  // namespace d9d::kernels
