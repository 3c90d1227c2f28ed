#include "runtime/devices/delayed/memory.hpp"

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace d9d::delayed {
namespace {

constexpr std::size_t address_bytes = std::size_t{1} << 36;  // addresses cost nothing
constexpr std::size_t block_step = 512;
constexpr std::size_t page = 4096;

std::size_t up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

Memory::Memory(std::size_t limit) : limit_(limit == 0 ? address_bytes : limit) {
  void* const all =
      mmap(nullptr, address_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(all != MAP_FAILED, "cannot reserve addresses for a delayed device: ", std::strerror(errno));
  begin_ = static_cast<std::byte*>(all);
}

Memory::~Memory() {
  munmap(begin_, address_bytes);
}

Block* Memory::take(Machine& machine, std::size_t bytes, int stream, bool& fresh) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = up(bytes, block_step);
  const MemoryPool pool = PoolScope::current();
  const std::size_t left = limit_ - std::min(limit_, total_of(counts_.in_use()));
  auto& of_stream = free_[stream];
  const auto found = of_stream.lower_bound(size);
  if (found != of_stream.end() && found->first <= 2 * size && size <= left) {
    Block* const block = found->second;
    of_stream.erase(found);
    block->pool = pool;
    block->taken = size;
    count(*block);
    fresh = std::exchange(block->trimmed, false);
    return block;
  }
  if (size > left || used_ + size > address_bytes) return nullptr;
  blocks_.push_back(std::make_unique<Block>(Block{&machine, begin_ + used_, size, size, stream}));
  blocks_.back()->pool = pool;
  count(*blocks_.back());
  fresh = true;
  const std::size_t end = used_ + size;
  if (opened_ > 0) protect(true, up(used_, page), up(end, page));
  used_ = end;
  return blocks_.back().get();
}

void Memory::count(const Block& block) {
  counts_.take(block.pool, block.taken);
  StreamBytes& of_stream = by_stream_[block.stream];
  of_stream.in_use += block.taken;
  of_stream.at_peak = std::max(of_stream.at_peak, of_stream.in_use);
}

void Memory::give_back(Block* block) {
  const std::lock_guard lock(mutex_);
  by_stream_[block->stream].in_use -= block->taken;
  counts_.give_back(block->pool, block->taken);
  free_[block->stream].emplace(block->size, block);
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, blocks] : free_) {
    for (const auto& [size, block] : blocks) {
      const auto address = reinterpret_cast<std::uintptr_t>(block->data);
      const std::uintptr_t first = up(address, page), end = (address + size) / page * page;
      if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
      block->trimmed = true;
    }
  }
}

void Memory::open() {
  const std::lock_guard lock(mutex_);
  if (opened_++ == 0) protect(true, 0, up(used_, page));
}

void Memory::close() {
  const std::lock_guard lock(mutex_);
  if (--opened_ == 0) protect(false, 0, up(used_, page));
}

void Memory::protect(bool opened, std::size_t begin, std::size_t end) const {
  if (begin == end) return;
  const int rights = opened ? PROT_READ | PROT_WRITE : PROT_NONE;
  TORCH_CHECK(mprotect(begin_ + begin, end - begin, rights) == 0,
              "cannot protect the memory of a delayed device: ", std::strerror(errno));
}

std::pair<std::uintptr_t, std::uintptr_t> Memory::addresses() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(begin_);
  return {begin, begin + address_bytes};
}

std::size_t Memory::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return total_of(counts_.in_use());
}

DeviceMemory Memory::pools() const {
  const std::lock_guard lock(mutex_);
  const std::size_t used = std::min<std::size_t>(limit_, total_of(counts_.in_use()));
  DeviceMemory all{counts_.in_use(), counts_.at_peak(), limit_ - used, limit_ == address_bytes ? 0 : limit_};
  for (const auto& [stream, bytes] : by_stream_) all.of_streams += bytes.at_peak;
  return all;
}

void Memory::forget_peaks() {
  const std::lock_guard lock(mutex_);
  counts_.forget_peak();
  for (auto& [stream, bytes] : by_stream_) bytes.at_peak = bytes.in_use;
}

}  // namespace d9d::delayed
