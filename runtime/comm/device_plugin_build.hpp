#pragma once
// What a plugin of devices and the program that loads it must have in common. Each library has its own copy.

#include <torch/headeronly/version.h>

namespace d9d {

constexpr const char* device_plugin_build = __VERSION__ " torch " TORCH_VERSION " abi 6";

}  // namespace d9d
