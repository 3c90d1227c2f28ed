#include "runtime/state/weights/float8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace d9d {
namespace {

constexpr std::int64_t usual_block = 128;

std::int64_t num_blocks_of(std::int64_t size, std::int64_t block) {
  return (size + block - 1) / block;
}

float value_e4m3(int exponent, int mantissa) {
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

float value_e5m2(int exponent, int mantissa) {
  if (exponent == 31)
    return mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -16)
                       : std::ldexp(static_cast<float>(4 + mantissa), exponent - 17);
}

std::array<float, 256> all_values(Float8Format format) {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) {
    const float value = format == Float8Format::e4m3 ? value_e4m3(bits >> 3 & 15, bits & 7)
                                                     : value_e5m2(bits >> 2 & 31, bits & 3);
    values[static_cast<std::size_t>(bits)] = (bits & 128) != 0 ? -value : value;
  }
  return values;
}

const std::array<float, 256>& values_of_float8(Float8Format format) {
  static const std::array<float, 256> of_e4m3 = all_values(Float8Format::e4m3);
  static const std::array<float, 256> of_e5m2 = all_values(Float8Format::e5m2);
  return format == Float8Format::e4m3 ? of_e4m3 : of_e5m2;
}

// 0 where there is none.
std::int64_t block_of(std::int64_t size, std::int64_t scales, std::int64_t wanted) {
  if (scales == 1) return std::max<std::int64_t>(size, 1);
  for (const std::int64_t block : {wanted, usual_block})
    if (block > 0 && num_blocks_of(size, block) == scales) return block;
  return scales > 0 && size % scales == 0 && size > 0 ? size / scales : 0;
}

}  // namespace

std::optional<ScaleBlocks> scale_blocks(const Shape& weights, const Shape& scales, const Shape& block) {
  ScaleBlocks blocks;
  for (const std::int64_t size : weights) blocks.push_back(std::max<std::int64_t>(size, 1));
  if (num_elements(scales) == 1) return blocks;
  if (scales.size() == 1 && !weights.empty() && scales[0] == weights[0]) {
    blocks[0] = 1;
    return blocks;
  }
  if (scales.size() != weights.size() || weights.size() < 2) return std::nullopt;
  for (std::size_t dim = 0; dim < weights.size(); ++dim) {
    const std::size_t from_end = weights.size() - dim;
    const bool in_blocks = from_end <= 2;
    const std::int64_t wanted = in_blocks && block.size() == 2 ? block[2 - from_end] : 0;
    blocks[dim] = in_blocks ? block_of(weights[dim], scales[dim], wanted) : 1;
    if (blocks[dim] == 0 || num_blocks_of(weights[dim], blocks[dim]) != scales[dim]) return std::nullopt;
  }
  return blocks;
}

Slice scales_of(const Slice& box, const ScaleBlocks& blocks) {
  Slice scales;
  for (std::size_t dim = 0; dim < blocks.size(); ++dim) {
    scales.begin.push_back(box.begin[dim] / blocks[dim]);
    scales.end.push_back(std::max(num_blocks_of(box.end[dim], blocks[dim]), scales.begin.back()));
  }
  return scales;
}

void dequantise(Float8Format format, const std::uint8_t* values, const float* scales, const Slice& box,
                const ScaleBlocks& blocks, float* into) {
  const std::array<float, 256>& table = values_of_float8(format);
  if (is_empty(box)) return;
  if (blocks.empty()) {
    *into = table[*values] * *scales;
    return;
  }
  const Shape grid = scales_of(box, blocks).shape();
  const std::size_t last = blocks.size() - 1;
  std::vector<std::int64_t> index = box.begin;
  for (bool more = true; more;) {
    std::int64_t row = 0;  // of the scales
    for (std::size_t dim = 0; dim < last; ++dim)
      row = row * grid[dim] + index[dim] / blocks[dim] - box.begin[dim] / blocks[dim];
    const float* const of_row = scales + row * grid[last];
    for (std::int64_t column = box.begin[last]; column < box.end[last];) {
      const std::int64_t number = column / blocks[last];
      const std::int64_t end = std::min((number + 1) * blocks[last], box.end[last]);
      const float scale = of_row[number - box.begin[last] / blocks[last]];
      for (; column < end; ++column) *into++ = table[*values++] * scale;
    }
    more = false;
    for (std::size_t dim = last; dim-- > 0;) {
      if (++index[dim] < box.end[dim]) {
        more = true;
        break;
      }
      index[dim] = box.begin[dim];
    }
  }
}

}  // namespace d9d
