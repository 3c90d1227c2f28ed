#include "runtime/state/weights/mxfp4.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace d9d {
namespace {

constexpr std::array<float, 16> values_of_mxfp4{0,    0.5F,  1,  1.5F,  2,  3,  4,  6,
                                                -0.F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

float scale_of(std::uint8_t bits) {
  constexpr int bias = 127, not_a_number = 255;
  return bits == not_a_number ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, bits - bias);
}

}  // namespace

void dequantise_mxfp4(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t num_blocks,
                      float* into) {
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    const float scale = scale_of(scales[block]);
    for (std::int64_t i = 0; i < mxfp4_bytes; ++i) {
      const std::uint8_t pair = *blocks++;
      *into++ = values_of_mxfp4[pair & 15] * scale;
      *into++ = values_of_mxfp4[pair >> 4] * scale;
    }
  }
}

}  // namespace d9d
