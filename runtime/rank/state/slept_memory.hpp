#pragma once
// Memory of tensors that is handed back to the system or the device and taken again with the same bytes (reference CORE-50
// to 52). Every view of it (parameters, shards, buckets, moments) stays as it is: on the host because its addresses stay
// and only its pages go, on a device because views ask their storage for the address, which is another one afterwards.
// While it sleeps, to read or write it is a mistake: on the host nothing reports it. The bytes are in
// a file without a name meanwhile, which goes with the process, however it ends.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

class Device;

class SleptMemory {
 public:
  // `disk` outlives it.
  explicit SleptMemory(Disk& disk) : disk_(disk) {}

  // The whole storage of the tensor, once for all tensors that share it. `zero`: all bytes are zero, so that the file
  // needs none of them; what is not is a bug.
  void add(const at::Tensor& tensor, bool zero = false);

  // Writes the bytes into a new file and takes its name away, then gives the memory back. Returns how many bytes went. Environment error of
  // the disk: then nothing has gone, and nothing is asleep. Twice without wake() is a bug. The host waits for a device,
  // whose allocator keeps the memory until it is trimmed (awake_ranks.hpp).
  std::uint64_t sleep(const std::string& file);
  // Reads them back and lets the file go. Environment error when they are not what was written, c10::OutOfMemoryError
  // when somebody else has taken the memory of the device.
  void wake();
  bool is_asleep() const { return written_ != nullptr; }
  // But the CPU.
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

// Gives freed memory that the allocator keeps back to the system.
void trim_allocator();

}  // namespace d9d
