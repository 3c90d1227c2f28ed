#include "runtime/rank/slept_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/checksum.hpp"

namespace d9d {
namespace {

// The whole pages within [begin, begin + bytes): at its ends other objects may lie.
void drop_pages(char* begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace

void SleptMemory::add(const at::Tensor& tensor, bool zero) {
  if (!tensor.defined() || !tensor.is_cpu() || tensor.storage().nbytes() == 0) return;
  auto* const begin = static_cast<char*>(tensor.storage().mutable_data());
  regions_.try_emplace(begin, Region{tensor.storage().nbytes(), zero});
}

void SleptMemory::write(const std::string& file) {
  const auto out = disk_.create(file);
  std::uint64_t offset = 0;
  checksum_ = 0;
  for (const auto& [begin, region] : regions_) {
    if (region.zero) {
      const bool is_zero = std::all_of(begin, begin + region.bytes, [](char byte) { return byte == 0; });
      D9D_CHECK(is_zero, "gradients are in flight: {} bytes that should be zero are not", region.bytes);
      continue;
    }
    out->write(offset, begin, region.bytes);
    offset += region.bytes;
    checksum_ = 31 * checksum_ + checksum_of({begin, region.bytes});
  }
  out->close(/*sync=*/false);
}

std::uint64_t SleptMemory::sleep(const std::string& file) {
  D9D_CHECK(!is_asleep(), "memory that sleeps in {} is put to sleep again", file_);
  write(file);
  file_ = file;
  std::uint64_t bytes = 0;
  for (const auto& [begin, region] : regions_) {
    drop_pages(begin, region.bytes);
    bytes += region.bytes;
  }
  return bytes;
}

void SleptMemory::wake() {
  D9D_CHECK(is_asleep(), "memory that does not sleep is woken");
  const auto in = disk_.open(file_);
  std::uint64_t offset = 0, checksum = 0;
  for (const auto& [begin, region] : regions_) {
    if (region.zero) continue;
    in->read(offset, begin, region.bytes);
    offset += region.bytes;
    checksum = 31 * checksum + checksum_of({begin, region.bytes});
  }
  if (checksum != checksum_) {
    throw Error(ErrorKind::environment,
                fmt::format("{}: what is read is not what was written when the job fell asleep; the disk is "
                            "damaged or somebody wrote to the file. Start the job again: it goes on from its "
                            "last checkpoint",
                            file_));
  }
  disk_.remove_all(std::exchange(file_, {}));
}

void trim_allocator() {
  malloc_trim(0);
}

}  // namespace d9d
