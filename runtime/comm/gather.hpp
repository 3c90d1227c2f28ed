#pragma once
// Gathers tensors whose shapes the other ranks do not know. Made of the plain
// collectives, so it works with every backend; device tensors are sent from the device.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// Tensors of one dtype and up to 8 dimensions, shape and number of dimensions free per rank. In rank order.
std::vector<at::Tensor> all_gather_variadic(Communicator& communicator, const at::Tensor& tensor);
// The same at `root` only; the others get nothing. The own tensor is placed without a copy.
std::vector<at::Tensor> gather_variadic(Communicator& communicator, const at::Tensor& tensor, int root);

std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes);
std::vector<std::string> gather_bytes(Communicator& communicator, const std::string& bytes, int root);

}  // namespace d9d
