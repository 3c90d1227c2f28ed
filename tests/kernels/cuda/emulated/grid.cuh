#pragma once
// CUDA's words on the host, for kernels that g++ compiles as C++ (README of kernels/cuda): what is not here does not
// compile, so that atomics and plain __shared__ cannot be used.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tests/kernels/cuda/emulated/scheduler.hpp"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__

struct CUstream_st;

using std::max;
using std::min;

namespace d9d::cuda {
namespace emulated {

template <class T>
T shuffled(Place place, unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  std::memcpy(&value, exchange(place, mask, bits) + lane % 32, sizeof(T));
  return value;
}

inline unsigned lane() {
  return threadIdx.x % 32;
}

}  // namespace emulated

template <class... Parameters, class... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, unsigned threads, std::size_t shared_bytes, CUstream_st*,
           const Arguments&... arguments) {
  emulated::run(__PRETTY_FUNCTION__, grid, threads, shared_bytes, [&] { kernel(arguments...); });
  return 0;
}

template <class T, int count, class Name>
T* shared_array() {
  static const char name = 0;
  return static_cast<T*>(emulated::shared_memory(&name, count * sizeof(T)));
}
inline void* dynamic_shared() {
  return emulated::dynamic_shared();
}

}  // namespace d9d::cuda

// The caller's place: a default argument is evaluated where the call is.
#define D9D_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(D9D_HERE) {
  d9d::cuda::emulated::wait_for_block({file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffU, D9D_HERE) {
  d9d::cuda::emulated::exchange({file, line}, mask, 0);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, D9D_HERE) {
  return d9d::cuda::emulated::shuffled({file, line}, mask, value,
                                       d9d::cuda::emulated::lane() ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, D9D_HERE) {
  return d9d::cuda::emulated::shuffled({file, line}, mask, value, static_cast<unsigned>(lane));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int lanes, D9D_HERE) {
  const int lane = static_cast<int>(d9d::cuda::emulated::lane());
  return d9d::cuda::emulated::shuffled({file, line}, mask, value,
                                       static_cast<unsigned>(lane < lanes ? lane : lane - lanes));
}
inline unsigned __ballot_sync(unsigned mask, int condition, D9D_HERE) {
  const std::uint64_t* const all = d9d::cuda::emulated::exchange({file, line}, mask, condition != 0);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= (mask >> i & 1) != 0 && all[i] != 0 ? 1U << i : 0;
  return bits;
}

inline unsigned __match_any_sync(unsigned mask, int value, D9D_HERE) {
  const auto own = static_cast<std::uint64_t>(value);
  const std::uint64_t* const all = d9d::cuda::emulated::exchange({file, line}, mask, own);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= (mask >> i & 1) != 0 && all[i] == own ? 1U << i : 0;
  return bits;
}
#undef D9D_HERE

inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
template <class Words>
void __stwb(Words* to, Words value) {
  *to = value;
}
