#pragma once
// Maps whole tensors to the blocks that ranks hold of them, and back. Names do not change.

#include <map>
#include <string>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

class Communicator;

// Cuts this rank's block out of the whole tensor, without communication: every rank must have the
// same tensor. Input error at apply if the tensor's shape is not the layout's.
MapperPtr distribute(const std::string& name, const Layout& layout);

// The communicators by mesh axis; they must outlive the mapper.
using AxisCommunicators = std::map<std::string, Communicator*>;

// Gathers the whole tensor from the blocks, on every rank. All ranks of the axes that shard it
// must apply it in the same order. Input error at construction: such an axis has no
// communicator, or one of another size or rank. Input error at apply: the tensor does not have
// the shape of the rank's block.
MapperPtr gather_full_tensor(const std::string& name, const Layout& layout,
                             const AxisCommunicators& communicators);

}  // namespace d9d
