// A thread works on a pack of channels of a token. The weight's gradient is summed in two passes, tap by tap.
#include "kernels/cuda/attention/short_convolution.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

// The head of a token.
struct Place {
  std::int64_t sequence, token, head;

  // Of row `token * heads + head`, tokens being counted over all sequences.
  template <class Call>
  __device__ static Place of(const Call& call, std::int64_t row) {
    const std::int64_t token = row / call.heads;
    return {token / call.length, token % call.length, row % call.heads};
  }
};

// The head's channels of the token `away` from this one; null outside of its sequence.
template <class T>
__device__ inline const T* channels_at(const Channels& x, std::int64_t length, const Place& place, int away) {
  const std::int64_t token = place.token + away;
  if (token < 0 || token >= length) return nullptr;
  return static_cast<const T*>(x.data) + place.sequence * x.sequence_stride + token * x.token_stride +
         place.head * x.head_stride;
}

template <int size>
__device__ inline Pack<size> weight_of(const ShortConvolution& call, const Place& place, int tap,
                                       std::int64_t at) {
  return load_pack<size>(call.weight + (place.head * call.taps + tap) * call.width + at);
}

// What silu is taken of.
template <class T, int size>
__device__ inline Pack<size> convolved(const ShortConvolution& call, std::int64_t row, std::int64_t at) {
  const Place place = Place::of(call, row);
  Pack<size> sum{};
  for (int tap = 0; tap < call.taps; ++tap) {
    const T* const from = channels_at<T>(call.x, call.length, place, tap - call.taps + 1);
    if (!from) continue;
    const Pack<size> x = load_pack<size>(from + at), weight = weight_of<size>(call, place, tap, at);
#pragma unroll
    for (int e = 0; e < size; ++e) sum.at[e] += weight.at[e] * x.at[e];
  }
  return sum;
}

template <class T, int size>
struct Forward {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t at = pack * size;
    Pack<size> y = convolved<T, size>(call, row, at);
#pragma unroll
    for (int e = 0; e < size; ++e) y.at[e] *= sigmoid<T>(y.at[e]);
    store_pack<size>(static_cast<T*>(call.y) + row * call.width + at, y);
  }
};

template <class T, int size>
struct Dsum {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t at = pack * size;
    const Pack<size> sum = convolved<T, size>(call, row, at);
    Pack<size> dsum = load_pack<size>(static_cast<const T*>(call.dy) + row * call.width + at);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const float s = sigmoid<T>(sum.at[e]);
      dsum.at[e] *= s + sum.at[e] * s * (1.0F - s);
    }
    store_pack<size>(call.dsum + row * call.width + at, dsum);
  }
};

// A token's x went into the sums of the tokens after it: of the one that is j away by the tap that is j before the last.
template <class T, int size>
struct Dx {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t at = pack * size;
    const Place place = Place::of(call, row);
    Pack<size> dx{};
    for (int away = 0; away < call.taps && place.token + away < call.length; ++away) {
      const float* const from = call.dsum + (row + away * call.heads) * call.width + at;
      const Pack<size> dsum = load_pack<size>(from),
                       weight = weight_of<size>(call, place, call.taps - 1 - away, at);
#pragma unroll
      for (int e = 0; e < size; ++e) dx.at[e] += weight.at[e] * dsum.at[e];
    }
    store_pack<size>(static_cast<T*>(call.dx) + row * call.width + at, dx);
  }
};

template <class T>
bool fit_packs(const ShortConvolution& call) {
  const Channels& x = call.x;
  return takes_packs<T>(call.width, {{x.data, x.sequence_stride},
                                     {x.data, x.token_stride},
                                     {x.data, x.head_stride},
                                     {call.weight},
                                     {call.y},
                                     {call.dy},
                                     {call.dsum},
                                     {call.dx}});
}

template <template <class, int> class Body>
int run(const ShortConvolution& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(fit_packs<T>(call), [&](auto size) {
      return launch_rows(call.sequences * call.length * call.heads, call.width / size, Body<T, size()>{call},
                         stream);
    });
  });
}

constexpr int threads = 256, tile = 32, parts = threads / tile;
constexpr std::int64_t least_slab = 64;
struct ConvolutionSums;

// A block sums one tap of 32 channels over a slab of tokens: each of its warps every eighth token, then the warps in
// order. Blocks lie over channels, slabs and taps.
template <class T>
__global__ void __launch_bounds__(threads) dw_kernel(ShortConvolutionDw call, std::int64_t slab) {
  float* const sums = shared_array<float, threads, ConvolutionSums>();
  const int lane = threadIdx.x % tile, part = threadIdx.x / tile, tap = static_cast<int>(blockIdx.z);
  const std::int64_t channels = call.heads * call.width, channel = std::int64_t{blockIdx.x} * tile + lane;
  const std::int64_t tokens = call.sequences * call.length;
  const std::int64_t begin = blockIdx.y * slab, end = min(begin + slab, tokens);
  const std::int64_t head = channel / call.width, at = channel % call.width;
  float sum = 0;
  if (channel < channels) {
    for (std::int64_t token = begin + part; token < end; token += parts) {
      const Place place = Place::of(call, token * call.heads + head);
      const T* const from = channels_at<T>(call.x, call.length, place, tap - call.taps + 1);
      if (from) sum += call.dsum[token * channels + channel] * load(from, at);
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (part > 0 || channel >= channels) return;
  for (int other = 1; other < parts; ++other) sum += sums[other * tile + lane];
  call.partial[((blockIdx.y * call.heads + head) * call.taps + tap) * call.width + at] = sum;
}

}  // namespace

int short_convolution(const ShortConvolution& call, CUstream_st* stream) {
  return run<Forward>(call, stream);
}

int short_convolution_dsum(const ShortConvolution& call, CUstream_st* stream) {
  return run<Dsum>(call, stream);
}

int short_convolution_dx(const ShortConvolution& call, CUstream_st* stream) {
  return run<Dx>(call, stream);
}

std::int64_t short_convolution_slabs(std::int64_t tokens) {
  const std::int64_t slab = slab_of(tokens, least_slab);
  return (tokens + slab - 1) / slab;
}

int short_convolution_dw(const ShortConvolutionDw& call, CUstream_st* stream) {
  const std::int64_t tokens = call.sequences * call.length, channels = call.heads * call.width;
  if (tokens == 0 || channels == 0) return 0;
  const dim3 grid(static_cast<unsigned>((channels + tile - 1) / tile),
                  static_cast<unsigned>(short_convolution_slabs(tokens)), static_cast<unsigned>(call.taps));
  return dispatch(call.type, [&](auto tag) {
    return launch(dw_kernel<decltype(tag)>, grid, threads, 0, stream, call, slab_of(tokens, least_slab));
  });
}

}  // namespace d9d::cuda
