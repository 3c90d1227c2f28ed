#include "kernels/memory/caching_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <unordered_map>

namespace d9d::kernels {
namespace {

constexpr std::size_t small = 64 << 10;
constexpr std::size_t huge_page = 2 << 20;
// Data starts at a changing offset in its first page, because tensors that all start on a page boundary
// share the same cache sets.
constexpr std::size_t colours = 16;
constexpr std::size_t colour_step = 256;
constexpr std::size_t alignment = 64;

std::size_t round_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Rounds up to one of few sizes, in steps of an eighth, so that freed blocks fit again.
std::size_t block_size(std::size_t bytes) {
  const std::size_t wanted = bytes + colours * colour_step;
  std::size_t step = small;
  while (step * 16 <= wanted) step *= 2;
  return round_up(wanted, step);
}

// The word that tells give_back() the kind of memory: not 0 before memory of malloc, 0 before a block.
// Before a block it is never written, because new pages are 0 and a write would take a huge page for a
// tensor that may never be used (such as the initial values of a model that is then loaded).
std::uint64_t& word_before(void* data) {
  return static_cast<std::uint64_t*>(data)[-1];
}

void* map(std::size_t size) {
  void* data = ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TORCH_CHECK(data != MAP_FAILED, "out of memory: the system gave no ", size, " bytes for a tensor");
  return data;
}

}  // namespace

struct CachingAllocator::Block {
  CachingAllocator* owner;
  void* mapping;
  std::size_t size;
  std::size_t colour;
  std::multimap<std::size_t, Recent::iterator>::iterator free_entry;

  // A large block begins at its first huge page boundary. The word before data()
  // is never written (word_before).
  char* data() const {
    auto address = reinterpret_cast<std::uintptr_t>(mapping);
    if (size >= huge_page) address = round_up(address, huge_page);
    return reinterpret_cast<char*>(address) + (colour + 1) * colour_step;
  }
  // Asks for whole huge pages only. Data begins at an offset, so its last bytes would take one more.
  void ask_for_huge_pages() const {
    char* begin = data() - (colour + 1) * colour_step;
    char* end = begin + size / huge_page * huge_page;
    ::madvise(begin, end - begin, MADV_HUGEPAGE);
    ::madvise(end, static_cast<char*>(mapping) + size + huge_page - end, MADV_NOHUGEPAGE);
  }
  void unmap() const { ::munmap(mapping, size + huge_page); }
};

CachingAllocator::CachingAllocator(std::size_t bytes_cached_max) : bytes_cached_max_(bytes_cached_max) {}

CachingAllocator::~CachingAllocator() {
  release_cached();
}

c10::DataPtr CachingAllocator::allocate(std::size_t bytes) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (bytes == 0) return {nullptr, cpu};
  if (bytes < small) {
    auto* memory = static_cast<char*>(std::aligned_alloc(alignment, alignment + round_up(bytes, alignment)));
    TORCH_CHECK(memory != nullptr, "out of memory: the system gave no ", bytes, " bytes for a tensor");
    char* data = memory + alignment;
    word_before(data) = 1;
    return {data, data, &give_back, cpu};
  }
  char* data = take(block_size(bytes))->data();
  return {data, data, &give_back, cpu};
}

void CachingAllocator::copy_data(void* dest, const void* src, std::size_t count) const {
  default_copy_data(dest, src, count);
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  shrink_to(0);
}

c10::DeleterFnPtr CachingAllocator::raw_deleter() const {
  return &give_back;
}

// The blocks of all allocators by their data, because torch's deleter gets only this address.
class CachingAllocator::Blocks {
 public:
  static Blocks& all() {
    static const auto blocks = new Blocks;  // never destroyed: torch frees tensors after main, too
    return *blocks;
  }
  void add(Block* block) {
    const std::lock_guard lock(mutex_);
    by_data_.emplace(block->data(), block);
  }
  void remove(const Block* block) {
    const std::lock_guard lock(mutex_);
    by_data_.erase(block->data());
  }
  Block* of(void* data) const {
    const std::lock_guard lock(mutex_);
    return by_data_.at(data);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, Block*> by_data_;
};

void CachingAllocator::give_back(void* data) {
  if (data == nullptr) return;
  if (word_before(data) != 0) {
    std::free(static_cast<char*>(data) - alignment);
    return;
  }
  Block* block = Blocks::all().of(data);
  block->owner->keep(block);
}

CachingAllocator::Block* CachingAllocator::take(std::size_t size) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use += size;
  stats_.bytes_in_use_max = std::max(stats_.bytes_in_use_max, stats_.bytes_in_use);
  // Takes the block that was freed last. Its pages exist and may still be in a cache.
  const auto behind = free_by_size_.upper_bound(size);
  const auto fit = behind == free_by_size_.begin() ? free_by_size_.end() : std::prev(behind);
  if (fit != free_by_size_.end() && fit->first == size) {
    Block* block = *fit->second;
    recent_.erase(fit->second);
    free_by_size_.erase(fit);
    stats_.bytes_cached -= size;
    return block;
  }
  auto* block = new Block{this, map(size), size, stats_.blocks_mapped++ % colours, {}};
  if (size >= huge_page) block->ask_for_huge_pages();
  Blocks::all().add(block);
  return block;
}

void CachingAllocator::keep(Block* block) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= block->size;
  stats_.bytes_cached += block->size;
  recent_.push_front(block);
  block->free_entry = free_by_size_.emplace(block->size, recent_.begin());
  shrink_to(bytes_cached_max_);
}

void CachingAllocator::shrink_to(std::size_t bytes) {
  while (stats_.bytes_cached > bytes) {
    Block* oldest = recent_.back();
    stats_.bytes_cached -= oldest->size;
    free_by_size_.erase(oldest->free_entry);
    recent_.pop_back();
    Blocks::all().remove(oldest);
    oldest->unmap();
    delete oldest;
  }
}

CachingAllocator& install_caching_allocator(std::size_t bytes_cached_max) {
  auto* allocator = new CachingAllocator(bytes_cached_max);
  c10::SetCPUAllocator(allocator, /*priority=*/1);
  return *allocator;
}

}  // namespace d9d::kernels
