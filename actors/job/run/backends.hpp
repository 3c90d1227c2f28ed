#pragma once
// Which code computes in this process: which of the CPU's instructions; for attention and products of experts what the
// job file says, else the environment.
// No torch.

#include <string>

#include "kernels/ops/backend.hpp"
#include "runtime/job/job_load.hpp"

namespace d9d {

// Input error where the device, the model or this machine cannot do what was asked for.
kernels::Backends backends_of(const LoadedJob& loaded);
// What runs with them, for the log: "attention: own, products of experts: own".
std::string backends_text(const kernels::Backends& chosen, const LoadedJob& loaded);

// Returns "avx512", "avx2" or "baseline" (x86-64): the best one of this machine, or a lesser one that
// D9D_ISA asks for. Input error if D9D_ISA is another word or asks for more than the machine has.
std::string instruction_set();

}  // namespace d9d
