#pragma once
// The ops of dense layers that each device implements. Their callers have checked shapes and dtypes.
// Tensors are fp32, bf16 or fp64; statistics and sums are fp32, or fp64 for fp64 (sum_dtype).
// `beta` is 0 (overwrite `into`, which may be uninitialised) or 1 (add to it). Results are contiguous.

#include <ATen/core/Tensor.h>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

struct Normed {
  at::Tensor normed;  // as x
  at::Tensor sum;     // x + residual; undefined without a residual
  // In sum_dtype. rms_norm: [rows], 1 / rms of each row. layer_norm: [2, rows], 1 / standard deviation, then the mean.
  at::Tensor inverse;
};

struct NormGradients {
  at::Tensor dx;  // as x
  at::Tensor
      dweight;  // [W] in sum_dtype, summed in an order that depends on shapes only; undefined if not wanted
};

// The gradients of silu_mul, gelu_mul and gelu_erf_mul.
struct SiluMulGradients {
  at::Tensor dgate, dup;  // [.., I]
};

struct EmbeddedRows {
  at::Tensor embedded;  // [.., H]
  at::Tensor rows;  // int64 [..], contiguous: the row of each id in `weight`, -1 for an id of another rank
};

struct DenseOps {
  // c [M, N] = a [M, K] b [K, N] + beta c; sizes may be 0. a and b may be transposed views or have strided
  // rows; the rows of c may be strided. fp32 and bf16 may be mixed; sums are fp32 (fp64 for fp64).
  Op<void(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta)> matmul{"matmul"};
  // into = factor * x + beta * into, of one shape. factor has one element, which is read
  // when the op runs.
  Op<void(const at::Tensor& x, const at::Tensor& factor, const at::Tensor& into, double beta)> add_scaled{
      "add_scaled"};

  // See activation.hpp. The rows of gate [.., I], up [.., I] and dout [.., I] may be strided.
  Op<at::Tensor(const at::Tensor& gate, const at::Tensor& up)> silu_mul{"silu_mul"};
  Op<SiluMulGradients(const at::Tensor& dout, const at::Tensor& gate, const at::Tensor& up)>
      silu_mul_backward{"silu_mul_backward"};
  Op<at::Tensor(const at::Tensor& gate, const at::Tensor& up)> gelu_mul{"gelu_mul"};
  Op<SiluMulGradients(const at::Tensor& dout, const at::Tensor& gate, const at::Tensor& up)>
      gelu_mul_backward{"gelu_mul_backward"};
  Op<at::Tensor(const at::Tensor& gate, const at::Tensor& up)> gelu_erf_mul{"gelu_erf_mul"};
  Op<SiluMulGradients(const at::Tensor& dout, const at::Tensor& gate, const at::Tensor& up)>
      gelu_erf_mul_backward{"gelu_erf_mul_backward"};

  // normed = n / sqrt(mean(n^2) + eps) * (offset + weight) with n = x + residual, rounded to the dtype before
  // it is normed. x, residual [.., W]; residual may be undefined; weight [W].
  Op<Normed(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps,
            double offset)>
      rms_norm{"rms_norm"};
  // dx = the gradient of the normed sum, which is `x` here, plus `extra` [.., W], which may be undefined.
  // dweight = the sum over rows of dy * x * inverse.
  Op<NormGradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, double offset,
                   const at::Tensor& inverse, const at::Tensor& extra, bool with_dweight)>
      rms_norm_backward{"rms_norm_backward"};
  // The same of (n - mean(n)) / sqrt(variance(n) + eps) * weight. `inverse`: [2, rows], as layer_norm gives it.
  Op<Normed(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps)>
      layer_norm{"layer_norm"};
  Op<NormGradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& inverse, const at::Tensor& extra, bool with_dweight)>
      layer_norm_backward{"layer_norm_backward"};

  // Looks up int64 ids [..] in weight [V, H], rows first .. first + V of a vocabulary of `vocab_size`. An
  // id of another row gives zeros; an id outside of the vocabulary is an index error.
  Op<EmbeddedRows(const at::Tensor& ids, const at::Tensor& weight, int64_t first, int64_t vocab_size)>
      embedding{"embedding"};
  // into [V, H] = for each row the sum of the grad rows [n, H] of its tokens, in their order, + beta into.
  // rows int64 [n], contiguous, -1: skipped. grad is contiguous.
  Op<void(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& into, double beta)> embedding_dw{
      "embedding_dw"};
};

}  // namespace d9d::kernels
