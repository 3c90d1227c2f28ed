#pragma once
// Texts about a device's memory: its use, and the estimate beside it.

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "runtime/device/memory_pools.hpp"

namespace d9d {

// The ranks that compute on one device.
struct DeviceUse {
  std::vector<int> ranks;
  ExpectedMemory expected;  // sum over these ranks; zeros: no estimate
};
// Sets the use of a device; a later call replaces it. Thread-safe.
void set_device_use(c10::Device place, DeviceUse use);

// Returns a line with the peak for each device that has a use.
std::vector<std::string> peak_lines();

// Returns "delayed:1 (rank 1)".
std::string owner_text(c10::Device place);
// Returns "state 40.0 MiB, activations 18.9 MiB, communication 2.0 MiB (d9d-node check estimates ...)".
std::string pools_text(c10::Device place, const PoolBytes& bytes);
// Returns the text of a c10::OutOfMemoryError: the device and its ranks, the bytes wanted and free, the
// pools, and a remedy for the largest pool.
std::string out_of_device_memory(c10::Device place, std::uint64_t wanted, const DeviceMemory& memory);

}  // namespace d9d
