#pragma once
// What this build of the plugin can open; CMake chooses nccl.cpp or no_nccl.cpp.

#include "runtime/comm/device_plugin.hpp"

namespace d9d::cuda {

using OpenNccl = decltype(DevicePluginApi::open_nccl);
// Null without NCCL.
OpenNccl nccl_of_this_build();

}  // namespace d9d::cuda
