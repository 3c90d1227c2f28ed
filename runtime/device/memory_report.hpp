#pragma once
// A device's memory in words, beside what was expected of it.

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "runtime/device/memory_pools.hpp"

namespace d9d {

// Of the ranks that compute on one device.
struct DeviceUse {
  std::vector<int> ranks;
  ExpectedMemory expected;  // of all of them; zeros where nothing was estimated
};
// Replaces what was said of the device before. Any thread.
void set_device_use(c10::Device place, DeviceUse use);

// A line for each device that is used: what it took at most.
std::vector<std::string> peak_lines();

// "delayed:1 (rank 1)"
std::string owner_text(c10::Device place);
// "state 40.0 MiB, activations 18.9 MiB, communication 2.0 MiB (d9d-node check estimates ...)"
std::string pools_text(c10::Device place, const PoolBytes& bytes);
// The text of a c10::OutOfMemoryError: who, sizes wanted and free, the pools, what to do (by the pool that has most).
std::string out_of_device_memory(c10::Device place, std::uint64_t wanted, const DeviceMemory& memory);

}  // namespace d9d
