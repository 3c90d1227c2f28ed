#pragma once
// Rounding to bf16 up or down with probability given by the distance, from 16 random bits (OPT-04): the
// expected value is the fp32 value. C++17, for the host and for a GPU.

#include <cstring>

#include "kernels/optimizer/philox.hpp"

namespace d9d::kernels {

// The upper half of the result's fp32 bits. `noise` has 16 random bits. Infinities and NaN keep their class.
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
