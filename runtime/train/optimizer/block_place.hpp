#pragma once
// Where the elements of a rank's block are in the global tensor, row-major, and the noise that rounds them.

#include <cstdint>
#include <vector>

#include "kernels/ops/optimizer_ops.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

kernels::BlockPlace block_place(const std::vector<std::int64_t>& global_shape, const Slice& slice);

// The key of a stream for kernels: the same words.
kernels::RandomKey key_of(const RandomStream& stream);

}  // namespace d9d
