#pragma once
// Between whole tensors and the blocks that ranks hold of them. Both keep the name.

#include <map>
#include <string>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

class Communicator;

// The whole tensor -> this rank's block, without communication: every rank is assumed to have the same
// tensor. An input error at apply when the tensor's shape is not the layout's.
MapperPtr distribute(const std::string& name, const Layout& layout);

// By mesh axis; they outlive the mapper.
using AxisCommunicators = std::map<std::string, Communicator*>;

// This rank's block -> the whole tensor, on every rank. All ranks of the axes that shard it apply it in the
// same order. An input error at construction when such an axis has no communicator, or one of another size or
// rank; at apply when the tensor does not have the shape of the rank's block.
MapperPtr gather_full_tensor(const std::string& name, const Layout& layout,
                             const AxisCommunicators& communicators);

}  // namespace d9d
