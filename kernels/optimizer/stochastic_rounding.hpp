#pragma once
// Rounds to bf16 up or down, with a probability that depends on the distance (OPT-04), from 16 random
// bits. The expected result is the fp32 value. C++17, for the host and for a GPU.

#include <cstring>

#include "kernels/optimizer/philox.hpp"

namespace d9d::kernels {

// Returns the bf16 bits. Uses the lower 16 bits of `noise`. Infinities stay infinite and NaN stays NaN.
D9D_HOST_AND_DEVICE inline std::uint16_t round_stochastically(float value, std::uint32_t noise) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    const bool is_nan = (bits & 0x007fffffU) != 0;
    return static_cast<std::uint16_t>((bits >> 16) | (is_nan ? 0x40U : 0U));
  }
  return static_cast<std::uint16_t>((bits + (noise & 0xffffU)) >> 16);
}

D9D_HOST_AND_DEVICE inline float from_bfloat16(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace d9d::kernels
