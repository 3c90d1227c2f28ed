// Compiles all loops for one instruction set. Define D9D_ISA (its name) before including.

#include <bit>
#include <cmath>

#include "kernels/cpu/loops/cache_table.hpp"
#include "kernels/cpu/loops/convolution_table.hpp"
#include "kernels/cpu/loops/table.hpp"

namespace d9d::kernels::D9D_ISA {
namespace {

#include "kernels/cpu/loops/scalar.inl"

#include "kernels/cpu/loops/activation.inl"
#include "kernels/cpu/loops/cache.inl"
#include "kernels/cpu/loops/convolution.inl"
#include "kernels/cpu/loops/flat.inl"
#include "kernels/cpu/loops/norm.inl"
#include "kernels/cpu/loops/rope.inl"
#include "kernels/cpu/loops/rows.inl"

#define D9D_TEXT(x) #x
#define D9D_NAME(x) D9D_TEXT(x)

template <class T>
constexpr LoopTable<T> loops{.isa = D9D_NAME(D9D_ISA),
                               .rms_norm = rms_norm<T>,
                               .rms_norm_dx = rms_norm_dx<T>,
                               .rms_norm_dw = rms_norm_dw<T>,
                               .layer_norm = layer_norm<T>,
                               .layer_norm_dx = layer_norm_dx<T>,
                               .layer_norm_dw = layer_norm_dw<T>,
                               .silu_mul = gated_mul<Silu, T>,
                               .silu_mul_backward = gated_mul_backward<Silu, T>,
                               .gelu_mul = gated_mul<GeluTanh, T>,
                               .gelu_mul_backward = gated_mul_backward<GeluTanh, T>,
                               .gelu_erf_mul = gated_mul<GeluErf, T>,
                               .gelu_erf_mul_backward = gated_mul_backward<GeluErf, T>,
                               .silu_mul_weighted = silu_mul_weighted<T>,
                               .heads = heads<T>,
                               .heads_backward = heads_backward<T>,
                               .cross_entropy_row = cross_entropy_row<Sum<T>>,
                               .exponential_sum = exponential_sum<Sum<T>>,
                               .exponentials = exponentials<Sum<T>>,
                               .online_exponentials = online_exponentials<Sum<T>>,
                               .softmax_row = softmax_row<T>,
                               .combine_rows = combine_rows<T>,
                               .scale_row = scale_row<T>,
                               .add_row = add_row<T>,
                               .dot = dot<T>};

template <class T>
constexpr ConvolutionLoops<T> convolution{.convolve = convolve<T>,
                                          .convolve_dsum = convolve_dsum<T>,
                                          .convolve_dx = convolve_dx<T>,
                                          .convolve_dw = convolve_dw<T>};

template <class T>
constexpr CacheLoops<T> cache{.widen = widen<T>, .key_scores = key_scores<T>, .weigh_rows = weigh_rows<T>};

template <class S>
constexpr DeltaStepLoops<S> delta_steps{.step = delta_step<S>};

constexpr FlatLoopTable flat_loops{
    .adamw = adamw, .sum_of_squares = sum_of_squares<float>, .sum_of_squares_bf16 = sum_of_squares<Bf16>};

}  // namespace

extern const LoopTable<float>& float_table;
extern const LoopTable<double>& double_table;
extern const LoopTable<Bf16>& bf16_table;
extern const FlatLoopTable& flat;
extern const ConvolutionLoops<float>& float_convolution;
extern const ConvolutionLoops<double>& double_convolution;
extern const ConvolutionLoops<Bf16>& bf16_convolution;
extern const CacheLoops<float>& float_cache;
extern const CacheLoops<double>& double_cache;
extern const CacheLoops<Bf16>& bf16_cache;
extern const DeltaStepLoops<float>& float_delta_steps;
extern const DeltaStepLoops<double>& double_delta_steps;
const LoopTable<float>& float_table = loops<float>;
const LoopTable<double>& double_table = loops<double>;
const LoopTable<Bf16>& bf16_table = loops<Bf16>;
const FlatLoopTable& flat = flat_loops;
const ConvolutionLoops<float>& float_convolution = convolution<float>;
const ConvolutionLoops<double>& double_convolution = convolution<double>;
const ConvolutionLoops<Bf16>& bf16_convolution = convolution<Bf16>;
const CacheLoops<float>& float_cache = cache<float>;
const CacheLoops<double>& double_cache = cache<double>;
const CacheLoops<Bf16>& bf16_cache = cache<Bf16>;
const DeltaStepLoops<float>& float_delta_steps = delta_steps<float>;
const DeltaStepLoops<double>& double_delta_steps = delta_steps<double>;

}  // namespace d9d::kernels::D9D_ISA
