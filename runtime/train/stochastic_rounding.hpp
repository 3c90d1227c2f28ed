#pragma once
// Rounding to bf16 up or down with probability given by the distance, from 16 random bits (OPT-04): the
// expected value is the fp32 value.

#include <bit>
#include <cstdint>

namespace d9d {

// The upper half of the result's fp32 bits. `noise` has 16 random bits. Infinities and NaN keep their class.
inline std::uint16_t round_stochastically(float value, std::uint32_t noise) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    const bool is_nan = (bits & 0x007fffffU) != 0;
    return static_cast<std::uint16_t>((bits >> 16) | (is_nan ? 0x40U : 0U));
  }
  return static_cast<std::uint16_t>((bits + (noise & 0xffffU)) >> 16);
}

inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace d9d
