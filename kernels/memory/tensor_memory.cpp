#include "kernels/memory/tensor_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include "kernels/memory/caching_allocator.hpp"

namespace d9d::kernels {
namespace {

constexpr int mapped_bytes_min = 128 << 10;

}  // namespace

std::function<std::uint64_t()> keep_tensor_memory() {
  // glibc's own value, but fixed: it would rise with each large block that is freed, and blocks of the start would then
  // leave holes in the heap that stay with the process.
  ::mallopt(M_MMAP_THRESHOLD, mapped_bytes_min);
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
  // What is kept is what some step needed at once; the bound is for a job whose sizes never repeat.
  const auto& allocator = install_caching_allocator(pages / 4 * page_bytes);
  return [&allocator] { return static_cast<std::uint64_t>(allocator.stats().bytes_in_use_max); };
}

}  // namespace d9d::kernels
