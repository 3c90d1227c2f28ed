#pragma once
// Computes where the elements of a rank's block are in the global tensor, row-major.

#include <cstdint>
#include <vector>

#include "kernels/ops/optimizer_ops.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

kernels::BlockPlace block_place(const std::vector<std::int64_t>& global_shape, const Slice& slice);

}  // namespace d9d
