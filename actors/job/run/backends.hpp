#pragma once
// Which code computes attention and products of experts in this process: what the job file says, else the environment.
// No torch.

#include <string>

#include "kernels/ops/backend.hpp"
#include "runtime/job/job_load.hpp"

namespace d9d {

// Input error where the device, the model or this machine cannot do what was asked for.
kernels::Backends backends_of(const LoadedJob& loaded);
// What runs with them, for the log: "attention: own, products of experts: own".
std::string backends_text(const kernels::Backends& chosen, const LoadedJob& loaded);

}  // namespace d9d
