#pragma once
// Gathers tensors whose shapes the other ranks do not know. Uses only the plain collectives, so it
// works with every backend. Tensors of devices are sent from the device.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// Returns the tensors of all ranks in rank order. The dtype must be the same on all ranks; the shape,
// of up to 8 dimensions, may differ.
std::vector<at::Tensor> all_gather_variadic(Communicator& communicator, const at::Tensor& tensor);
// The same at `root`; returns nothing on the other ranks. The root's own tensor is not copied
// if it is contiguous.
std::vector<at::Tensor> gather_variadic(Communicator& communicator, const at::Tensor& tensor, int root);

std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes);
std::vector<std::string> gather_bytes(Communicator& communicator, const std::string& bytes, int root);

}  // namespace d9d
