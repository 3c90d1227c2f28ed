#pragma once
// Loading and storing elements, one at a time or 16 bytes of them. Arithmetic is in fp32 whatever the element type.

#include <grid.cuh>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

using Bf16 = __nv_bfloat16;

template <class T>
__device__ inline float load(const T* data, std::int64_t i) {
  return static_cast<float>(data[i]);
}
template <class T>
__device__ inline void store(T* data, std::int64_t i, float value) {
  data[i] = static_cast<T>(value);
}
// As it would be after a trip through memory.
template <class T>
__device__ inline float rounded(float value) {
  return static_cast<float>(static_cast<T>(value));
}

// Neighbours that are loaded and stored at once: one, or as many as 16 bytes hold.
template <int size>
struct Pack {
  float at[size];
};
template <class T>
constexpr int pack_size = static_cast<int>(16 / sizeof(T));

template <int size, class T>
__device__ inline Pack<size> load_pack(const T* from) {
  Pack<size> pack;
  if constexpr (size == 1) {
    pack.at[0] = static_cast<float>(*from);
  } else {
    static_assert(size == pack_size<T>);
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    const unsigned words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        pack.at[i] = __uint_as_float(words[i]);
      } else {
        pack.at[2 * i] = __uint_as_float(words[i] << 16);
        pack.at[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
      }
    }
  }
  return pack;
}

template <int size, class T>
__device__ inline void store_pack(T* to, const Pack<size>& pack) {
  if constexpr (size == 1) {
    *to = static_cast<T>(pack.at[0]);
  } else {
    static_assert(size == pack_size<T>);
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        words[i] = __float_as_uint(pack.at[i]);
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(pack.at[2 * i], pack.at[2 * i + 1]);
        words[i] = __bfloat16_as_ushort(pair.x) | static_cast<unsigned>(__bfloat16_as_ushort(pair.y)) << 16;
      }
    }
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  }
}

// A row of `rows`; null when there are none.
template <class T>
__device__ inline const T* row_of(const ConstRows& rows, std::int64_t row) {
  return rows.data ? static_cast<const T*>(rows.data) + row * rows.stride : nullptr;
}

}  // namespace d9d::cuda
