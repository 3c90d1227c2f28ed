#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 3.3) for kernels on the host and on a GPU. Its words are those of runtime/base/rng.hpp, which
// must not include this folder. C++17.

#include <cstdint>

#ifdef __CUDACC__
#define D9D_HOST_AND_DEVICE __host__ __device__
#else
#define D9D_HOST_AND_DEVICE
#endif

namespace d9d::kernels {

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

}  // namespace d9d::kernels
