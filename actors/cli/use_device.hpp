#pragma once
// Where a model that is used without a job computes.

#include <memory>

#include "actors/cli/arguments.hpp"

namespace d9d {

class Device;

OptionSpec device_option();
// Input error for another name, and with the remedy where `cuda` is asked for and this host has no GPU, an old driver
// or no plugin. To be called before the first tensor is differentiated (device_plugin.hpp).
std::shared_ptr<Device> device_given(const Arguments& arguments);

}  // namespace d9d
