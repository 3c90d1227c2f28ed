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

// Neighbours that are loaded and stored at once: one, or as many as 16 bytes hold of the elements that a kernel reads.
template <int size>
struct Pack {
  float at[size];
};
template <class T>
constexpr int pack_size = static_cast<int>(16 / sizeof(T));

// A pack of T as it is in memory: accesses of 16 bytes, or one of 8 where another type decided on its size.
template <int size, class T>
struct Words {
  static constexpr int bytes = static_cast<int>(size * sizeof(T));
  using Access = std::conditional_t<bytes % 16 == 0, uint4, uint2>;
  static constexpr int accesses = bytes / static_cast<int>(sizeof(Access));
  static_assert(bytes % sizeof(Access) == 0);
  alignas(Access) unsigned word[bytes / 4];
  __device__ Access& access(int i) { return reinterpret_cast<Access*>(word)[i]; }
};
template <class T>
struct Words<1, T> {
  using Access = T;
  static constexpr int accesses = 1;
  T word[1];
  __device__ T& access(int) { return word[0]; }
};

template <int size, class T>
__device__ inline Words<size, T> load_words(const T* from) {
  Words<size, T> all;
#pragma unroll
  for (int i = 0; i < all.accesses; ++i)
    all.access(i) = reinterpret_cast<const typename Words<size, T>::Access*>(from)[i];
  return all;
}

template <int size, class T>
__device__ inline Pack<size> unpacked(const Words<size, T>& all) {
  Pack<size> pack;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    if constexpr (size == 1) {
      pack.at[i] = static_cast<float>(all.word[i]);
    } else if constexpr (std::is_same_v<T, float>) {
      pack.at[i] = __uint_as_float(all.word[i]);
    } else {
      pack.at[i] = __uint_as_float(i % 2 == 0 ? all.word[i / 2] << 16 : all.word[i / 2] & 0xffff0000U);
    }
  }
  return pack;
}

template <class T, int size>
__device__ inline Words<size, T> packed(const Pack<size>& pack) {
  Words<size, T> all;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(all.word) / sizeof(all.word[0])); ++i) {
    if constexpr (size == 1) {
      all.word[i] = static_cast<T>(pack.at[i]);
    } else if constexpr (std::is_same_v<T, float>) {
      all.word[i] = __float_as_uint(pack.at[i]);
    } else {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(pack.at[2 * i], pack.at[2 * i + 1]);
      all.word[i] = __bfloat16_as_ushort(pair.x) | static_cast<unsigned>(__bfloat16_as_ushort(pair.y)) << 16;
    }
  }
  return all;
}

// To memory that is not shared: an assignment would become stores of 4 bytes in some kernels.
template <int size, class T>
__device__ inline void store_words(T* to, Words<size, T> all) {
#pragma unroll
  for (int i = 0; i < all.accesses; ++i) {
    if constexpr (size == 1) {
      to[i] = all.access(i);
    } else {
      __stwb(reinterpret_cast<typename Words<size, T>::Access*>(to) + i, all.access(i));
    }
  }
}

template <int size, class T>
__device__ inline Pack<size> load_pack(const T* from) {
  return unpacked(load_words<size>(from));
}
template <int size, class T>
__device__ inline void store_pack(T* to, const Pack<size>& pack) {
  store_words<size>(to, packed<T>(pack));
}

// A row of `rows`; null when there are none.
template <class T>
__device__ inline const T* row_of(const ConstRows& rows, std::int64_t row) {
  return rows.data ? static_cast<const T*>(rows.data) + row * rows.stride : nullptr;
}

}  // namespace d9d::cuda
