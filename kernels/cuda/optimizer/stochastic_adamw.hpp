#pragma once
// AdamW with stochastic rounding of a block of a tensor, and the copy alone. See kernels/optimizer/stochastic_adamw.hpp
// and stochastic_copy.hpp there.

#include "kernels/cuda/launch.hpp"
#include "kernels/optimizer/stochastic_adamw_pass.hpp"

namespace d9d::cuda {

// Flat buffers of `count` elements.
struct StochasticAdamW {
  ElementType grad_type = ElementType::float32;
  ElementType state_type = ElementType::float32;
  std::int64_t count = 0;
  std::uint16_t* param = nullptr;  // bf16
  void* grad = nullptr;
  void* exp_avg = nullptr;
  void* exp_avg_sq = nullptr;
  kernels::StochasticPass pass;
  kernels::RoundingNoise noise;
};
int stochastic_adamw(const StochasticAdamW& call, CUstream_st* stream);

// Flat buffers of `count` elements.
struct StochasticCopy {
  std::int64_t count = 0;
  const float* source = nullptr;
  std::uint16_t* target = nullptr;  // bf16
  kernels::RandomKey key;
  kernels::BlockPlace place;
};
int stochastic_copy(const StochasticCopy& call, CUstream_st* stream);

}  // namespace d9d::cuda
