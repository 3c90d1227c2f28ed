#pragma once
// The ops of attention layers, as every device has to do them: rotary embedding (rope.hpp) and softmax
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

struct RopeGradients {
  at::Tensor dx;       // [B, S, H, D], contiguous
  at::Tensor dweight;  // [D] in sum_dtype; undefined without a weight
};

struct AttentionBlock {
  at::Tensor out;  // [B, Sq, Hq, Dv]
  at::Tensor lse;  // log of the softmax's denominator, [B, Hq, Sq], fp64 for fp64 inputs, else fp32
};

// int64 [B, Sq], ascending in each row: of the keys that the mask shows it, query i of sequence b sees only
// those from [b, i] on; so documents in one row do not see each other. Undefined: all of them.
using FirstKeys = at::Tensor;

struct AttentionBlockGradients {
  at::Tensor dq, dk, dv;
};

struct AttentionOps {
  // Rotates x [B, S, H, D] after it was normed per head with
  // offset + weight [D]; undefined: no norm, eps and offset unused.
  Op<RotatedHeads(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                  const RopeAngles& angles, RopeStyle style)>
      rope{"rope"};
  // dy [B, S, H, D]. x and inverse are of the forward; without a weight neither is read.
  Op<RopeGradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, double offset,
                   const at::Tensor& inverse, const RopeAngles& angles, RopeStyle style)>
      rope_backward{"rope_backward"};

  // Every query sees at least one key of the mask, but with first_keys maybe none: then out is 0, lse -inf.
  Op<AttentionBlock(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                    double scale, at::ScalarType dtype, const FirstKeys& first_keys)>
      attention_block{"attention_block"};
  Op<AttentionBlockGradients(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, const AttentionBlock& forward, const AttentionMask& mask,
                             double scale, at::ScalarType dtype, const FirstKeys& first_keys)>
      attention_block_backward{"attention_block_backward"};
  // into := attention over the keys of both blocks. out and lse of both are fp32, or fp64; in `into` every
  // query has seen a key.
  Op<void(const AttentionBlock& into, const AttentionBlock& block)> merge_attention_block{
      "merge_attention_block"};
};

}  // namespace d9d::kernels
