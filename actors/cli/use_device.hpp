#pragma once
// The device of commands that use a model without a job.

#include <memory>

#include "actors/cli/arguments.hpp"

namespace d9d {

class Device;

OptionSpec device_option();
// Opens the device of `--device`. Call it before the first tensor is differentiated (device_plugin.hpp).
// Input error for an unknown name; with the remedy when `cuda` is asked for and this host has no GPU, an
// old driver or no plugin.
std::shared_ptr<Device> device_given(const Arguments& arguments);

}  // namespace d9d
