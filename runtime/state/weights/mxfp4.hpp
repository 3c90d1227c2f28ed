#pragma once
// Weights of 4 bits in blocks that share a scale: MXFP4 of the OCP Microscaling Formats (MX) specification 1.0,
// sections 5.2 and 5.4, as gpt-oss stores them. A value is E2M1, 0 to 6 with a sign; the scale E8M0, a power of 2,
// or NaN. A byte holds two values, the first in its lower half. No torch.

#include <cstdint>

namespace d9d {

inline constexpr std::int64_t mxfp4_values = 32;  // of a block
inline constexpr std::int64_t mxfp4_bytes = mxfp4_values / 2;

// Writes the values of that many blocks, each times its scale.
void dequantise_mxfp4(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t num_blocks,
                      float* into);

}  // namespace d9d
