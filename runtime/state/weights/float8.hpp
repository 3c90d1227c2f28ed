#pragma once
// Weights of 8 bits with scales: F8_E4M3 (no infinite values, NaN is 0x7f and 0xff) and F8_E5M2
// (the upper half of an F16; both arXiv 2209.05433). A weight is its 8-bit value times the scale of
// its block. No torch.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

enum class Float8Format { e4m3, e5m2 };

// How many values share a scale along each dim of the weights. The last block of a dim may be a part.
using ScaleBlocks = std::vector<std::int64_t>;

// Finds the block sizes for weights of one shape and scales of another: a single scale; one for
// each index of the first dim; or one for each block of the last two dims. The block is `block` if
// that fits, else 128 x 128, else an even share. Nothing if the two shapes do not fit.
std::optional<ScaleBlocks> scale_blocks(const Shape& weights, const Shape& scales, const Shape& block);

// Returns the slice of scales that a box of weights needs, in a grid with as many
// dims as the weights.
Slice scales_of(const Slice& box, const ScaleBlocks& blocks);

// Multiplies the box's `values` (row-major) by `scales`, those of scales_of(box), and writes as
// many floats to `into`.
void dequantise(Float8Format format, const std::uint8_t* values, const float* scales, const Slice& box,
                const ScaleBlocks& blocks, float* into);

}  // namespace d9d
