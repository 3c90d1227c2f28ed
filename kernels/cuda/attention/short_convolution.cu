// A thread works on a pack of channels of a token, by packs where there are four taps. The weight's gradient is summed
// in two passes, tap by tap.
#include "kernels/cuda/attention/short_convolution.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

constexpr int packed_taps = 4;

// The part of the pack, which then counts from the part's first one.
template <int size>
__device__ inline ConvolvedPart part_of(const ShortConvolution& call, std::int64_t& pack) {
  ConvolvedPart part = call.part[0];
#pragma unroll
  for (int i = 1; i < convolved_parts_max; ++i) {
    const std::int64_t before = part.width / size;
    if (pack < before || call.part[i].width == 0) break;
    pack -= before;
    part = call.part[i];
  }
  return part;
}

// The head of a token.
struct Place {
  std::int64_t sequence, token, head;

  // Of row `token * heads + head`, tokens being counted over all sequences.
  __device__ static Place of(const ShortConvolution& call, std::int64_t row) {
    const std::int64_t token = row / call.heads;
    return {token / call.length, token % call.length, row % call.heads};
  }
};

// The head's channels of the token `away` from this one; null outside of its sequence.
template <class T>
__device__ inline const T* channels_at(const ConvolvedPart& part, std::int64_t length, const Place& place,
                                       int away) {
  const std::int64_t token = place.token + away;
  if (token < 0 || token >= length) return nullptr;
  return static_cast<const T*>(part.x) + place.sequence * part.sequence_stride + token * part.token_stride +
         place.head * part.head_stride;
}

// The weights of a pack of channels, which lie channel by channel.
template <class T, int size>
struct Taps {
  Pack<size> packs[packed_taps];
  __device__ Taps(const ShortConvolution& /*call*/, const ConvolvedPart& part, const Place& place,
                  std::int64_t at) {
    const T* const from = static_cast<const T*>(part.weight) + (place.head * part.width + at) * packed_taps;
#pragma unroll
    for (int i = 0; i < packed_taps; ++i) packs[i] = load_pack<size>(from + i * size);
  }
  static __device__ int count(const ShortConvolution& /*call*/) {
    return packed_taps;
  }
  __device__ float of(int tap, int e) const {
    return packs[(e * packed_taps + tap) / size].at[(e * packed_taps + tap) % size];
  }
};
template <class T>
struct Taps<T, 1> {
  const T* from;
  __device__ Taps(const ShortConvolution& call, const ConvolvedPart& part, const Place& place,
                  std::int64_t at)
      : from(static_cast<const T*>(part.weight) + (place.head * part.width + at) * call.taps) {}
  static __device__ int count(const ShortConvolution& call) { return call.taps; }
  __device__ float of(int tap, int /*e*/) const { return load(from, tap); }
};

// What silu is taken of.
template <class T, int size>
__device__ inline Pack<size> convolved(const ShortConvolution& call, const ConvolvedPart& part,
                                       std::int64_t row, std::int64_t at) {
  const Place place = Place::of(call, row);
  const Taps<T, size> weight(call, part, place, at);
  const int taps = Taps<T, size>::count(call);
  Pack<size> sum{};
#pragma unroll
  for (int tap = 0; tap < taps; ++tap) {
    const T* const from = channels_at<T>(part, call.length, place, tap - taps + 1);
    if (!from) continue;
    const Pack<size> x = load_pack<size>(from + at);
#pragma unroll
    for (int e = 0; e < size; ++e) sum.at[e] += weight.of(tap, e) * x.at[e];
  }
  return sum;
}

template <class T, int size>
struct Forward {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const ConvolvedPart part = part_of<size>(call, pack);
    const std::int64_t at = pack * size;
    Pack<size> y = convolved<T, size>(call, part, row, at);
#pragma unroll
    for (int e = 0; e < size; ++e) y.at[e] *= sigmoid<T>(y.at[e]);
    store_pack<size>(static_cast<T*>(part.y) + row * part.width + at, y);
  }
};

template <class T, int size>
struct Dsum {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const ConvolvedPart part = part_of<size>(call, pack);
    const std::int64_t at = pack * size;
    const Pack<size> sum = convolved<T, size>(call, part, row, at);
    Pack<size> dsum = load_pack<size>(static_cast<const T*>(part.dy) + row * part.width + at);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const float s = sigmoid<T>(sum.at[e]);
      dsum.at[e] *= s + sum.at[e] * s * (1.0F - s);
    }
    store_pack<size>(part.dsum + row * part.width + at, dsum);
  }
};

// A token's x went into the sums of the tokens after it: of the one j away by the tap that is j before the last.
template <class T, int size>
struct Dx {
  ShortConvolution call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const ConvolvedPart part = part_of<size>(call, pack);
    const std::int64_t at = pack * size;
    const Place place = Place::of(call, row);
    const Taps<T, size> weight(call, part, place, at);
    const int taps = Taps<T, size>::count(call);
    Pack<size> dx{};
#pragma unroll
    for (int away = 0; away < taps; ++away) {
      if (place.token + away >= call.length) continue;
      const Pack<size> dsum = load_pack<size>(part.dsum + (row + away * call.heads) * part.width + at);
#pragma unroll
      for (int e = 0; e < size; ++e) dx.at[e] += weight.of(taps - 1 - away, e) * dsum.at[e];
    }
    store_pack<size>(static_cast<T*>(part.dx) + row * part.width + at, dx);
  }
};

template <class T>
bool fit_packs(const ShortConvolution& call) {
  if (call.taps != packed_taps) return false;
  for (const ConvolvedPart& part : call.part)
    if (!takes_packs<T>(part.width, {{part.x, part.sequence_stride},
                                     {part.x, part.token_stride},
                                     {part.x, part.head_stride},
                                     {part.weight},
                                     {part.y},
                                     {part.dy},
                                     {part.dsum},
                                     {part.dx}}))
      return false;
  return true;
}

std::int64_t width_of(const ShortConvolution& call) {
  std::int64_t width = 0;
  for (const ConvolvedPart& part : call.part) width += part.width;
  return width;
}

template <template <class, int> class Body>
int run(const ShortConvolution& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(fit_packs<T>(call), [&](auto size) {
      return launch_rows(call.sequences * call.length * call.heads, width_of(call) / size,
                         Body<T, size()>{call}, stream);
    });
  });
}

constexpr int threads = 256, tile = 32, parts = threads / tile;
constexpr std::int64_t least_slab = 64;
struct ConvolutionSums;

// A block sums one tap of 32 channels over a slab of tokens: each of its warps every eighth token, then the warps in
// order. Blocks lie over the channels of all parts, part by part and head by head, slabs and taps.
template <class T>
__global__ void __launch_bounds__(threads)
    dw_kernel(ShortConvolution call, std::int64_t channels, std::int64_t slab, float* partial) {
  float* const sums = shared_array<float, threads, ConvolutionSums>();
  const int lane = threadIdx.x % tile, warp = threadIdx.x / tile, tap = static_cast<int>(blockIdx.z);
  const std::int64_t channel = std::int64_t{blockIdx.x} * tile + lane;
  const std::int64_t tokens = call.sequences * call.length;
  const std::int64_t begin = blockIdx.y * slab, end = min(begin + slab, tokens);
  float sum = 0;
  if (channel < channels) {
    ConvolvedPart part = call.part[0];
    std::int64_t of_part = channel;
#pragma unroll
    for (int i = 1; i < convolved_parts_max; ++i) {
      const std::int64_t before = part.width * call.heads;
      if (of_part < before || call.part[i].width == 0) break;
      of_part -= before;
      part = call.part[i];
    }
    const std::int64_t head = of_part / part.width, at = of_part % part.width;
    for (std::int64_t token = begin + warp; token < end; token += parts) {
      const Place place{token / call.length, token % call.length, head};
      const T* const from = channels_at<T>(part, call.length, place, tap - call.taps + 1);
      if (from) sum += part.dsum[token * call.heads * part.width + of_part] * load(from, at);
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (warp > 0 || channel >= channels) return;
  for (int other = 1; other < parts; ++other) sum += sums[other * tile + lane];
  partial[(blockIdx.y * channels + channel) * call.taps + tap] = sum;
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

int short_convolution_dw(const ShortConvolution& call, float* partial, CUstream_st* stream) {
  const std::int64_t tokens = call.sequences * call.length, channels = call.heads * width_of(call);
  if (tokens == 0 || channels == 0) return 0;
  const dim3 grid(static_cast<unsigned>((channels + tile - 1) / tile),
                  static_cast<unsigned>(short_convolution_slabs(tokens)), static_cast<unsigned>(call.taps));
  return dispatch(call.type, [&](auto tag) {
    return launch(dw_kernel<decltype(tag)>, grid, threads, 0, stream, call, channels,
                  slab_of(tokens, least_slab), partial);
  });
}

}  // namespace d9d::cuda
