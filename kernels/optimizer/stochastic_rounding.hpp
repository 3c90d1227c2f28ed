#pragma once
// Rounds to bf16 up or down, with a probability that depends on the distance (OPT-04), from 16 random
// bits. The expected result is the fp32 value. C++17, for the host and for a GPU.

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define D9D_HOST_AND_DEVICE __host__ __device__
#else
#define D9D_HOST_AND_DEVICE
#endif

namespace d9d::kernels {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 3.3). Its words are those of runtime/base/rng.hpp, which must not include this folder.
struct RandomWords {
  std::uint32_t at[4];
};

// Four words for each element.
struct RandomKey {
  std::uint32_t low = 0, high = 0;
  std::uint64_t step = 0;

  D9D_HOST_AND_DEVICE RandomWords words(std::uint64_t element) const {
    RandomWords w{{static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
                   static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)}};
    std::uint32_t key0 = low, key1 = high;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * w.at[0];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * w.at[2];
      w = {{static_cast<std::uint32_t>(product1 >> 32) ^ w.at[1] ^ key0, static_cast<std::uint32_t>(product1),
            static_cast<std::uint32_t>(product0 >> 32) ^ w.at[3] ^ key1,
            static_cast<std::uint32_t>(product0)}};
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return w;
  }
};

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
