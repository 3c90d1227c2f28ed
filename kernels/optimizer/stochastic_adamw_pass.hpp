#pragma once
// One stochastic AdamW update of a block of a tensor, element by element. All devices use this
// code, so that they compute the same operations in the same order and get the same bits. No torch;
// C++17. Internal to kernels/.

#include <cmath>

#include "kernels/optimizer/stochastic_rounding.hpp"

namespace d9d::kernels {

struct AdamWSettings;

// The positions of a block's elements in its tensor, as runs of adjacent elements.
// All counts are elements.
struct BlockPlace {
  static constexpr int dims_max = 7;
  std::int64_t base = 0;  // position of the block's first element
  std::int64_t run = 1;   // local elements [n run, (n + 1) run) are adjacent in the tensor, too
  int dims = 0;           // dimensions of the block outside of the runs
  std::int64_t shape[dims_max] = {};
  std::int64_t stride[dims_max] = {};

  D9D_HOST_AND_DEVICE std::int64_t begin_of_run(std::int64_t n) const {
    std::int64_t element = base;
    for (int dim = dims; dim-- > 0; n /= shape[dim]) element += n % shape[dim] * stride[dim];
    return element;
  }
};

// The noise of all roundings of an update. The lower half of a word of `value_and_first` rounds a weight,
// the upper half its first moment.
struct RoundingNoise {
  RandomKey value_and_first, second;
  BlockPlace place;
};

struct StochasticPass {
  float decay, beta1, beta2, step_size, correction, eps, grad_scale;
};

// Computed in fp64, then rounded.
StochasticPass stochastic_pass(const AdamWSettings& settings);

struct StochasticElement {
  float value, grad, first, second;
};

D9D_HOST_AND_DEVICE inline void update(const StochasticPass& pass, StochasticElement& e) {
  const float grad = e.grad * pass.grad_scale;
  e.first += (grad - e.first) * (1 - pass.beta1);
  e.second = e.second * pass.beta2 + grad * grad * (1 - pass.beta2);
  const float decayed = e.value * pass.decay;
  e.value = decayed - pass.step_size * e.first / (sqrtf(e.second) / pass.correction + pass.eps);
}

// Access to fp32 and bf16 elements. bf16 is rounded with noise.
D9D_HOST_AND_DEVICE inline float value_at(const float* data, std::int64_t i) {
  return data[i];
}
D9D_HOST_AND_DEVICE inline float value_at(const std::uint16_t* data, std::int64_t i) {
  return from_bfloat16(data[i]);
}
D9D_HOST_AND_DEVICE inline void set_value(float* data, std::int64_t i, float value, std::uint32_t) {
  data[i] = value;
}
D9D_HOST_AND_DEVICE inline void set_value(std::uint16_t* data, std::int64_t i, float value,
                                          std::uint32_t noise) {
  data[i] = round_stochastically(value, noise);
}

// Flat buffers of one length. G and S are float, or uint16_t for bf16.
template <class G, class S>
struct StochasticBuffers {
  std::uint16_t* value;
  G* grad;
  S *first, *second;

  D9D_HOST_AND_DEVICE void update_at(std::int64_t i, const StochasticPass& pass, std::uint32_t noise,
                                     std::uint32_t noise_second) const {
    StochasticElement e{value_at(value, i), value_at(grad, i), value_at(first, i), value_at(second, i)};
    update(pass, e);
    set_value(value, i, e.value, noise);
    set_value(first, i, e.first, noise >> 16);
    set_value(second, i, e.second, noise_second);
    grad[i] = 0;
  }
};

}  // namespace d9d::kernels
