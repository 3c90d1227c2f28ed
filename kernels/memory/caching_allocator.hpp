#pragma once
// Memory of CPU tensors that is kept when they are freed. A step asks for the same sizes over and over, and
// glibc gives large blocks back to the kernel each time: on a small model with two ranks the page faults were
// 8 % of the time. Blocks are on huge pages where the system allows it.

#include <c10/core/Allocator.h>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

namespace d9d::kernels {

struct AllocatorStats {
  std::size_t bytes_in_use = 0;
  std::size_t bytes_in_use_max = 0;
  std::size_t bytes_cached = 0;   // free, kept for the next tensor
  std::size_t blocks_mapped = 0;  // since the start: stands still once a program repeats itself
};

// Blocks below 64 KiB come from malloc and are not counted. Safe to use from any thread; a block may be freed
// by another thread than the one that got it. Must outlive its tensors.
class CachingAllocator final : public c10::Allocator {
 public:
  // Beyond `bytes_cached_max` free blocks go back to the system, those unused longest first.
  explicit CachingAllocator(std::size_t bytes_cached_max);
  ~CachingAllocator() override;

  c10::DataPtr allocate(std::size_t bytes) override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;
  // Some of torch's ops take memory without a tensor (gelu does).
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

// Makes a CachingAllocator the allocator of all CPU tensors of this process, for its whole life (it is never
// destroyed: torch keeps tensors until after main). To be called by main, once, before the first tensor.
CachingAllocator& install_caching_allocator(std::size_t bytes_cached_max);

}  // namespace d9d::kernels
