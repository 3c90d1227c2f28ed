#pragma once
// A device of its own on host memory, that runs late and out of order (README.md).

#include <memory>

#include "runtime/device/device.hpp"

namespace d9d {

// `index` counts the devices of the process from 0, at most 8. Safe to call again for the same one.
std::shared_ptr<Device> delayed_device(int index);

}  // namespace d9d
