#include "kernels/memory/tensor_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include "kernels/memory/caching_allocator.hpp"

namespace d9d::kernels {
namespace {

constexpr int mapped_bytes_min = 128 << 10;

}  // namespace

std::function<std::uint64_t()> keep_tensor_memory() {
  // Sets glibc's default threshold as a fixed one. Otherwise it would rise with each large block that is
  // freed, and large blocks of the start would leave holes in the heap for the rest of the process.
  ::mallopt(M_MMAP_THRESHOLD, mapped_bytes_min);
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
  // The allocator keeps what one step needed at once. The limit matters only for a job
  // whose sizes never repeat.
  const auto& allocator = install_caching_allocator(pages / 4 * page_bytes);
  return [&allocator] { return static_cast<std::uint64_t>(allocator.stats().bytes_in_use_max); };
}

}  // namespace d9d::kernels
