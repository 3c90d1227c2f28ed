#pragma once
// Weights of 8 bits with scales: F8_E4M3 (no infinite values, NaN is 0x7f and 0xff) and F8_E5M2 (the upper half of an F16;
// both arXiv 2209.05433), where a value is its own times the scale of its block. No torch.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

enum class Float8Format { e4m3, e5m2 };

// How many values share a scale along each dim of the weights. The last block of a dim may be a part.
using ScaleBlocks = std::vector<std::int64_t>;

// Of weights with this shape, for scales with that one: a single scale, one for each value of the first dim, or one
// for each block of the last two dims, whose size is `block` where that fits, else 128 x 128, else an even share.
// Nothing when the two shapes do not go together.
std::optional<ScaleBlocks> scale_blocks(const Shape& weights, const Shape& scales, const Shape& block);

// Which scales a box of the weights needs; in a grid with as many dims as the weights.
Slice scales_of(const Slice& box, const ScaleBlocks& blocks);

// `values` are the box's in row-major order, `scales` those of scales_of(box); `into` gets as many as `values` has.
void dequantise(Float8Format format, const std::uint8_t* values, const float* scales, const Slice& box,
                const ScaleBlocks& blocks, float* into);

}  // namespace d9d
