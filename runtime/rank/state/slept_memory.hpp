#pragma once
// Gives the memory of tensors back to the system or the device, and takes it again with the same bytes
// (reference CORE-50 to 52). Every view of it (parameters, shards, buckets, moments) stays valid: on the
// host the addresses stay and only the pages go; on a device the address changes, but views ask their
// storage for it. Do not read or write sleeping memory; on the host nothing reports it. The bytes are kept
// in a file without a name, which disappears with the process, however it ends.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

class Device;

class SleptMemory {
 public:
  // Keeps a reference to `disk`.
  explicit SleptMemory(Disk& disk) : disk_(disk) {}

  // Adds the whole storage of the tensor, once for all tensors that share it. `zero`: all bytes are zero
  // when it falls asleep, so the file need not hold them; other bytes are a bug.
  void add(const at::Tensor& tensor, bool zero = false);

  // Writes the bytes to a new file, removes its name, then frees the memory. Waits for the devices first.
  // Returns the number of freed bytes. After an environment error of the disk all memory is kept and
  // awake. It is a bug to call it twice without wake(). The allocator of a device keeps the memory until
  // it is trimmed (awake_ranks.hpp).
  std::uint64_t sleep(const std::string& file);
  // Reads the bytes back and closes the file. Environment error when they are not what was written,
  // c10::OutOfMemoryError when another user has taken the memory of the device.
  void wake();
  bool is_asleep() const { return written_ != nullptr; }
  // The devices of the memory, without the CPU.
  std::set<Device*> devices() const;

 private:
  struct Region {
    at::Tensor bytes;  // the whole storage, uint8
    bool zero = false;
  };
  void write(const std::string& file);

  Disk& disk_;
  std::map<const c10::StorageImpl*, Region> regions_;
  std::unique_ptr<ReadFile> written_;  // while it sleeps
  std::uint64_t checksum_ = 0;
};

// Returns freed memory that the host's allocator has cached to the system.
void trim_allocator();

}  // namespace d9d
