#pragma once
// The ops of attention layers that each device implements: rotary embedding (rope.hpp) and softmax
// attention (attention_block.hpp). Their callers have checked shapes and dtypes. Heads are [B, S, H, D].

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention_mask.hpp"
#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// Which elements of a head are a pair: i and i + R/2, or 2i and 2i + 1.
enum class RopeStyle { half, interleaved };

// The angles of each token, contiguous in sum_dtype: [S, R], the same for all sequences, or [B, S, R].
struct RopeAngles {
  at::Tensor cos, sin;
};

struct RotatedHeads {
  at::Tensor rotated;  // [B, S, H, D], contiguous
  at::Tensor inverse;  // 1 / rms of each head, [B, S, H] in sum_dtype; undefined without a weight
};

struct AttentionBlock {
  at::Tensor out;  // [B, Sq, Hq, Dv]
  at::Tensor lse;  // log of the softmax's denominator, [B, Hq, Sq], fp64 for fp64 inputs, else fp32
};

// Limits the keys that each query sees, so that documents in one row do not see each other, and no query sees
// padding. Query i of sequence b sees those keys of the mask that are in [first[b, i], end[b, i]). Both int64 [B,
// Sq], contiguous, at least 0, ascending in each row. Undefined: no such limit.
struct VisibleKeys {
  at::Tensor first = {};
  at::Tensor end = {};

  bool any() const { return first.defined() || end.defined(); }
};

// What is added to the scaled scores before the softmax: masks as tensors (attention/score_bias.hpp), positions as
// biases (attention/distance_bias.hpp). Finite, or -inf for keys that a query does not see; the mask and the visible
// keys limit them further. A query that sees no key has the result 0. Hide keys by -inf: where all keys of a query have
// a lowest number instead, the results are finite and mean nothing.
// `values`: [B or 1, Hq or 1, Sq or 1, Sk], or with `by_distance` [B or 1, Hq or 1, 1, Sq + Sk - 1], where key j of
// query i gets element Sq - 1 + j - i: what depends on distances needs no memory for [Sq, Sk]. fp32 or q's dtype.
struct ScoreBias {
  at::Tensor values = {};
  bool by_distance = false;
  bool wants_gradient = false;  // of the backward op; attention() sets it

  bool any() const { return values.defined(); }
};

struct AttentionBlockGradients {
  at::Tensor dq, dk, dv;
  at::Tensor dbias =
      {};  // of ScoreBias::values, summed over what they are shared by, in sum_dtype; where wanted
};

struct AttentionOps {
  // Norms x [B, S, H, D] per head with offset + weight [D], then rotates it. If `weight` is undefined,
  // does not norm, and does not use eps and offset.
  Op<RotatedHeads(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                  const RopeAngles& angles, RopeStyle style)>
      rope{"rope"};
  // dx = the gradient of x, from dy [B, S, H, D]. x and inverse are those of the forward, and are not read if `weight`
  // is undefined. The heads of dx are dense, its tokens evenly spaced, by any stride; R may be 0, which copies dy.
  // Returns the weight's gradient [D] in sum_dtype, undefined without a weight.
  Op<at::Tensor(const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                double offset, const at::Tensor& inverse, const RopeAngles& angles, RopeStyle style)>
      rope_backward{"rope_backward"};

  // Every query sees at least one key of the mask. With visible keys or a bias it may see none: then out is
  // 0, lse -inf, and dq 0.
  Op<AttentionBlock(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                    double scale, at::ScalarType dtype, const VisibleKeys& visible, const ScoreBias& bias)>
      attention_block{"attention_block"};
  Op<AttentionBlockGradients(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, const AttentionBlock& forward, const AttentionMask& mask,
                             double scale, at::ScalarType dtype, const VisibleKeys& visible,
                             const ScoreBias& bias)>
      attention_block_backward{"attention_block_backward"};
  // into := attention over the keys of both blocks. out and lse of both are fp32, or fp64. A query may have seen no key
  // of either.
  Op<void(const AttentionBlock& into, const AttentionBlock& block)> merge_attention_block{
      "merge_attention_block"};
};

}  // namespace d9d::kernels
