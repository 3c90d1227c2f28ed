#pragma once
// Small stages for the tests of runtime/train: parameters with layouts, and values that are easy to check.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Values that differ everywhere, in (-1, 1); the same for the same name, element and salt.
at::Tensor wave(const std::string& name, std::vector<std::int64_t> shape, double salt = 0);

// A trainable parameter; its block is cut out of wave(name, global_shape) by the layout.
StageParameter make_parameter(const std::string& name, const Layout& layout, at::ScalarType dtype);
StageParameter make_parameter(const std::string& name, std::vector<std::int64_t> shape);

// The rank's block of a global tensor.
at::Tensor block_of(const at::Tensor& global, const Slice& slice);

// Ranks as threads, with a group of all of them.
void on_ranks(int ranks, const std::function<void(int rank, const std::shared_ptr<Communicator>&)>& work);

LayoutAxis replicated(const std::string& axis, int size, int index);
LayoutAxis sharded(const std::string& axis, int size, int index, int dim);

}  // namespace d9d
