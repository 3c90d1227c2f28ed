#pragma once
// Warnings that name weights which a job would not train, though nobody froze them.

#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Of the stage's parameters those with these indices, which no backward of a step came to; empty for none.
std::string unreached_text(int stage, const std::vector<StageParameter>& parameters,
                           const std::vector<std::size_t>& unreached);
// Of tensors that a backward came to and that are no parameters.
std::string unregistered_text(int stage, const std::vector<at::Tensor>& tensors);

}  // namespace d9d
