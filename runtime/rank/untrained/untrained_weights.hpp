#pragma once
// Warnings that name the weights a job does not train and the user has not frozen.

#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// The warning on parameters that no backward of a step reached. `unreached`: their
// indices; no text when it is empty.
std::string unreached_text(int stage, const std::vector<StageParameter>& parameters,
                           const std::vector<std::size_t>& unreached);
// The warning on tensors that a backward reached, but that are no parameters of the model.
std::string unregistered_text(int stage, const std::vector<at::Tensor>& tensors);

}  // namespace d9d
