#pragma once
// The inner loops of the ops as functions over pointers, compiled once per instruction set, which the first call
// chooses. No torch here: these files are compiled with AVX flags, and the linker could take an inline function
// of torch that was compiled so for every machine. Sizes and strides (distances of rows) are in elements.
// T: float, double or Bf16; Sum<T>, the type of sums and statistics: double for double, else float.

#include <cstdint>

#include "kernels/cpu/isa.hpp"
#include "kernels/optimizer/adamw_pass.hpp"

namespace d9d::kernels {

struct Bf16 {
  std::uint16_t bits;
};

template <class T>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<double> {
  using type = double;
};
template <class T>
using Sum = typename SumOf<T>::type;

// A matrix whose rows are `stride` elements apart.
template <class T>
struct Rows {
  T* data;
  int64_t stride;
};

// Heads [tokens, heads, dim] of a projection: tokens `stride` apart, heads dense; cos, sin [tokens, rotary].
template <class T>
struct HeadsShape {
  int64_t heads, dim, rotary;
  bool interleaved;
  const T* weight;     // null: no norm
  Sum<T> eps, offset;  // offset + weight is the factor
};

template <class T>
struct LoopTable {
  using S = Sum<T>;
  const char* isa;

  // y [rows, width] = n * inverse[row] * (offset + weight[i]) with n = x, or n = sum = x + residual if
  // residual.data is not null. weight [width]; sum, y dense; inverse [rows].
  void (*rms_norm)(int64_t rows, int64_t width, Rows<const T> x, Rows<const T> residual, const T* weight,
                   S eps, S offset, T* sum, T* y, S* inverse);
  // dx [rows, width] = the gradient of what was normed (x here), plus extra if extra.data is not null.
  void (*rms_norm_dx)(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const T* weight,
                      S offset, const S* inverse, Rows<const T> extra, T* dx);
  // dw [width] += sum over rows of dy * x * inverse.
  void (*rms_norm_dw)(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const S* inverse,
                      S* dw);

  // The same of (n - mean(n)) * inverse * weight. inverse, mean [rows].
  void (*layer_norm)(int64_t rows, int64_t width, Rows<const T> x, Rows<const T> residual, const T* weight,
                     S eps, T* sum, T* y, S* inverse, S* mean);
  void (*layer_norm_dx)(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const T* weight,
                        const S* inverse, const S* mean, Rows<const T> extra, T* dx);
  void (*layer_norm_dw)(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const S* inverse,
                        const S* mean, S* dw);

  // out = silu(gate) * up, each [rows, width].
  void (*silu_mul)(int64_t rows, int64_t width, Rows<const T> gate, Rows<const T> up, Rows<T> out);
  void (*silu_mul_backward)(int64_t rows, int64_t width, Rows<const T> dout, Rows<const T> gate,
                            Rows<const T> up, Rows<T> dgate, Rows<T> dup);
  decltype(silu_mul) gelu_mul;  // by its tanh formula
  decltype(silu_mul_backward) gelu_mul_backward;
  decltype(silu_mul) gelu_erf_mul;  // by the error function
  decltype(silu_mul_backward) gelu_erf_mul_backward;

  // For rows scale[row] * h with h = silu(gate) * up, from grad = the gradient of h before its scale:
  // dgate, dup, weighted = scale * h [rows, width] and dscale [rows] = grad . h. All dense.
  void (*silu_mul_weighted)(int64_t rows, int64_t width, const S* scale, const S* grad, const T* gate,
                            const T* up, T* dgate, T* dup, T* weighted, S* dscale);

  // y [tokens, heads, dim] = x, normed if there is a weight, then rotated. inverse [tokens, heads] = 1 / rms, if so.
  void (*heads)(int64_t tokens, const HeadsShape<T>& shape, Rows<const T> x, Rows<const S> cos,
                Rows<const S> sin, T* y, S* inverse);
  // dx [tokens, heads, dim] of `heads`, its heads dense; dw [dim] (may be null) += the weight's gradient.
  void (*heads_backward)(int64_t tokens, const HeadsShape<T>& shape, Rows<const T> dy, Rows<const T> x,
                         Rows<const S> cos, Rows<const S> sin, const S* inverse, Rows<T> dx, S* dw);

  // Returns logsumexp(z) - z[label] for logits z [width]. *inverse = 1 / the softmax's denominator; with
  // `gradient` z becomes (softmax(z) - onehot(label)) / inverse.
  S (*cross_entropy_row)(int64_t width, S* z, int64_t label, bool gradient, S* inverse);
  // *largest = the largest of z [width]. Returns the sum of exp(z - *largest).
  S (*exponential_sum)(int64_t width, const S* z, S* largest);
  // z [width] := exp(z - shift); exp(z - *largest) with *largest := the larger of it and max z, returns the sum.
  void (*exponentials)(int64_t width, S* z, S shift);
  S (*online_exponentials)(int64_t width, S* z, S* largest);
  // probabilities [width] = softmax(z).
  void (*softmax_row)(int64_t width, const T* z, S* probabilities);

  // y [width] = sum over j < count of scale[j] * rows[index[j]]; an index < 0 adds nothing, a null scale is one.
  void (*combine_rows)(int64_t count, int64_t width, Rows<const T> rows, const int64_t* index, const S* scale,
                       T* y);
  // y = scale * x; y += x; x . y.
  void (*scale_row)(int64_t width, S scale, const T* x, T* y);
  void (*add_row)(int64_t width, const T* x, S* y);
  S (*dot)(int64_t width, const T* x, const T* y);
};

template <class T>
const LoopTable<T>& loop_table(Isa isa = isa_of_this_machine());

struct FlatLoopTable {
  void (*adamw)(int64_t count, const AdamWPass& pass, float* param, float* grad, float* exp_avg,
                float* exp_avg_sq);
  double (*sum_of_squares)(int64_t count, const float* x);
  double (*sum_of_squares_bf16)(int64_t count, const Bf16* x);
};
const FlatLoopTable& flat_loop_table(Isa isa = isa_of_this_machine());

}  // namespace d9d::kernels
