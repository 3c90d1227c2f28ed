#pragma once
// The inner loops of the short convolution (kernels/attention/short_convolution.hpp), as those of table.hpp. A token
// reads the channels [width] of `taps` tokens; a null row is one before the sequence. weight [taps, width].

#include "kernels/cpu/loops/table.hpp"

namespace d9d::kernels {

template <class T>
struct ConvolutionLoops {
  using S = Sum<T>;
  // y [width] = silu(s) with s = sum over taps of weight * row.
  void (*convolve)(int64_t taps, int64_t width, const T* const* rows, const S* weight, T* y);
  // dsum [width] = the gradient of s.
  void (*convolve_dsum)(int64_t taps, int64_t width, const T* const* rows, const S* weight, const T* dy,
                        S* dsum);
  // dx [width] = sum over taps of weight * row.
  void (*convolve_dx)(int64_t taps, int64_t width, const S* const* rows, const S* weight, T* dx);
  // dweight [width] += dsum * row.
  void (*convolve_dw)(int64_t width, const S* dsum, const T* row, S* dweight);
};

template <class T>
const ConvolutionLoops<T>& convolution_loops(Isa isa = isa_of_this_machine());

}  // namespace d9d::kernels
