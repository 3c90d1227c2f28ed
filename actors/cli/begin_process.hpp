#pragma once
// What a process does before its first command or job.

#include "actors/cli/running_commands.hpp"

namespace d9d {

// Returns the count of the tensors' bytes, from now on.
TensorBytes begin_process();

}  // namespace d9d
