#include "runtime/rank/state/slept_memory.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/disk/disk_error.hpp"

namespace d9d {
namespace {

constexpr std::int64_t copied_at_once = std::int64_t{64} << 20;

// Drops only pages that the bytes fill: the first and the last page may contain other objects.
void drop_pages(const at::Tensor& bytes) {
  auto* const begin = static_cast<char*>(bytes.mutable_data_ptr());
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(begin) + bytes.nbytes()) / page * page;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

at::Tensor bytes_of(const at::Tensor& tensor) {
  const auto count = static_cast<std::int64_t>(tensor.storage().nbytes());
  const at::Tensor bytes = at::empty({0}, tensor.options().dtype(at::kByte).requires_grad(false));
  return bytes.set_(tensor.storage(), 0, {count}, {1});
}

// Calls f(chunk) for chunks that are small enough for a copy on the host.
template <class F>
void for_chunks(const at::Tensor& bytes, F&& f) {
  for (std::int64_t first = 0; first < bytes.numel(); first += copied_at_once)
    f(bytes.narrow(0, first, std::min(copied_at_once, bytes.numel() - first)));
}

std::string_view view_of(const at::Tensor& here) {
  return {static_cast<const char*>(here.const_data_ptr()), here.nbytes()};
}

void give_to_device(const at::Tensor& bytes) {
  bytes.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(nullptr, bytes.device()));
}

void take_from_device(const at::Tensor& bytes) {
  const PoolScope pool(MemoryPool::state);
  const at::Tensor fresh = at::empty(bytes.sizes(), bytes.options());
  c10::StorageImpl* const storage = fresh.storage().unsafeGetStorageImpl();
  bytes.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      storage->set_data_ptr(at::DataPtr(nullptr, bytes.device())));
}

}  // namespace

void SleptMemory::add(const at::Tensor& tensor, bool zero) {
  if (!tensor.defined() || tensor.storage().nbytes() == 0) return;
  const auto* const storage = tensor.storage().unsafeGetStorageImpl();
  if (!regions_.contains(storage)) regions_.emplace(storage, Region{bytes_of(tensor), zero});
}

void SleptMemory::write(const std::string& file) {
  const auto out = disk_.create(file);
  std::uint64_t offset = 0;
  checksum_ = 0;
  for (const auto& [storage, region] : regions_) {
    for_chunks(region.bytes, [&, zero = region.zero](const at::Tensor& chunk) {
      const at::Tensor here = chunk.cpu();
      const std::string_view bytes = view_of(here);
      if (zero) {
        const bool is_zero = std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
        D9D_CHECK(is_zero, "gradients are in flight: some of {} bytes that should be zero are not",
                  bytes.size());
        return;
      }
      out->write(offset, bytes.data(), bytes.size());
      offset += bytes.size();
      checksum_ = 31 * checksum_ + checksum_of(bytes);
    });
  }
  out->close(/*sync=*/false);
}

std::uint64_t SleptMemory::sleep(const std::string& file) {
  D9D_CHECK(!is_asleep(), "memory that sleeps in {} is put to sleep again", written_->path());
  for (Device* const device : devices()) device->finish();
  try {
    write(file);
    // The open file keeps the bytes without a name, so that no file is left however the process ends.
    written_ = disk_.open(file);
    disk_.remove_all(file);
  } catch (...) {
    written_.reset();
    remove_quietly(disk_, file);
    throw;
  }
  std::uint64_t bytes = 0;
  for (const auto& [storage, region] : regions_) {
    region.bytes.is_cpu() ? drop_pages(region.bytes) : give_to_device(region.bytes);
    bytes += region.bytes.nbytes();
  }
  return bytes;
}

std::set<Device*> SleptMemory::devices() const {
  std::set<Device*> devices;
  for (const auto& [storage, region] : regions_) {
    if (!region.bytes.is_cpu()) devices.insert(&device_of(region.bytes.device()));
  }
  return devices;
}

void SleptMemory::wake() {
  D9D_CHECK(is_asleep(), "memory that does not sleep is woken");
  const auto in = std::exchange(written_, nullptr);
  std::uint64_t offset = 0, checksum = 0;
  for (const auto& [storage, region] : regions_) {
    const bool is_cpu = region.bytes.is_cpu();
    if (!is_cpu) take_from_device(region.bytes);
    if (region.zero && !is_cpu) region.bytes.zero_();
    if (region.zero) continue;
    for_chunks(region.bytes, [&](const at::Tensor& chunk) {
      const at::Tensor here = is_cpu ? chunk : at::empty(chunk.sizes(), chunk.options().device(at::kCPU));
      in->read(offset, static_cast<char*>(here.mutable_data_ptr()), here.nbytes());
      offset += here.nbytes();
      checksum = 31 * checksum + checksum_of(view_of(here));
      if (!is_cpu) chunk.copy_(here);
    });
    finish_copies(region.bytes.device());
  }
  if (checksum != checksum_) {
    throw Error(ErrorKind::environment,
                fmt::format("{}: its content is not what was written when the job fell asleep; the disk is "
                            "damaged or another process wrote to the file. Start the job again: it goes on "
                            "from its last checkpoint",
                            in->path()));
  }
}

void trim_allocator() {
  malloc_trim(0);
}

}  // namespace d9d
