#include "kernels/cuda/attention/composed_attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "kernels/attention/score_bias.hpp"
#include "kernels/rows.hpp"

namespace d9d::cuda {
namespace {

using kernels::AttentionMask;
using kernels::ScoreBias;
using kernels::sum_dtype;
using kernels::VisibleKeys;

constexpr int64_t queries_at_once = 256;

// Queries first .. first + count and the keys that some of them see.
struct Part {
  int64_t first, count, key, keys;
};

template <class F>
void for_parts(int64_t queries, int64_t keys, const AttentionMask& mask, F&& f) {
  for (int64_t first = 0; first < queries; first += queries_at_once) {
    const int64_t count = std::min(queries_at_once, queries - first);
    const int64_t begin = first_key(mask, first), end = end_of_keys(mask, first + count - 1, keys);
    f(Part{first, count, begin, end - begin});
  }
}

// The queries of x [B, S, Hq, D] that share a head of keys: [B, Hkv, group * count, D].
at::Tensor by_key_head(const at::Tensor& x, const Part& part, int64_t key_heads, at::ScalarType dtype) {
  const int64_t group = x.size(2) / key_heads;
  return x.narrow(1, part.first, part.count)
      .unflatten(2, {key_heads, group})
      .permute({0, 2, 3, 1, 4})
      .to(dtype)
      .reshape({x.size(0), key_heads, group * part.count, x.size(3)});
}

// The way back, into the part of `into`.
void put_back(const at::Tensor& into, const at::Tensor& heads, const Part& part) {
  const at::Tensor apart = heads.unflatten(2, {heads.size(2) / part.count, part.count});
  into.narrow(1, part.first, part.count).copy_(apart.permute({0, 3, 1, 2, 4}).flatten(2, 3));
}

// Keys or values [B, S, Hkv, D] of the part: [B, Hkv, keys, D].
at::Tensor keys_of(const at::Tensor& x, const Part& part, at::ScalarType dtype) {
  return x.narrow(1, part.key, part.keys).transpose(1, 2).to(dtype);
}

// scores [B, Hkv, group * count, keys] := -infinity where a query does not see a key.
void hide(const at::Tensor& scores, const Part& part, const AttentionMask& mask, const VisibleKeys& visible) {
  const auto options = at::TensorOptions(at::kLong).device(scores.device());
  const at::Tensor key = at::arange(part.key, part.key + part.keys, options);
  const at::Tensor position =
      at::arange(part.first + mask.offset, part.first + mask.offset + part.count, options).unsqueeze(1);
  const at::Tensor grouped = scores.unflatten(2, {scores.size(2) / part.count, part.count});
  const double hidden = -std::numeric_limits<double>::infinity();
  if (mask.before != AttentionMask::unlimited) grouped.masked_fill_(key < position - mask.before, hidden);
  if (mask.after != AttentionMask::unlimited) grouped.masked_fill_(key > position + mask.after, hidden);
  // [B, 1, 1, count, 1]
  const auto limits = [&](const at::Tensor& of_all) {
    return of_all.narrow(1, part.first, part.count).unsqueeze(2).unsqueeze(1).unsqueeze(1);
  };
  if (visible.first.defined()) grouped.masked_fill_(key < limits(visible.first), hidden);
  if (visible.end.defined()) grouped.masked_fill_(key >= limits(visible.end), hidden);
}

kernels::ScorePart score_part(const Part& part, int64_t queries) {
  return {queries, part.first, part.count, part.key, part.keys};
}

// scores [B, Hkv, group * count, keys] += the bias of the part.
void add_bias(const at::Tensor& scores, const Part& part, int64_t queries, const ScoreBias& bias) {
  if (!bias.any()) return;
  const at::Tensor of_part = bias_of_part(bias, score_part(part, queries), scores.scalar_type());
  const int64_t key_heads = scores.size(1), group = scores.size(2) / part.count;
  const at::Tensor by_group =
      of_part.size(1) == 1 ? of_part.unsqueeze(1) : of_part.unflatten(1, {key_heads, group});
  scores.unflatten(2, {group, part.count}).add_(by_group);
}

// The lse of the queries of a part, [B, Hkv, group * count, 1], finite where a query sees nothing.
at::Tensor shift_of(const at::Tensor& lse) {
  return lse.masked_fill(lse == -std::numeric_limits<double>::infinity(), 0).unsqueeze(3);
}

}  // namespace

kernels::AttentionBlock composed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const AttentionMask& mask, double scale, at::ScalarType dtype,
                                           const VisibleKeys& visible, const ScoreBias& bias) {
  const at::ScalarType sums = sum_dtype(q.scalar_type());
  const int64_t batch = q.size(0), key_heads = k.size(2), group = q.size(2) / key_heads;
  const auto options = q.options().requires_grad(false);
  kernels::AttentionBlock result{at::empty({batch, q.size(1), q.size(2), v.size(3)}, options.dtype(dtype)),
                                 at::empty({batch, q.size(2), q.size(1)}, options.dtype(sums))};
  const at::Tensor lse = result.lse.unflatten(1, {key_heads, group});
  for_parts(q.size(1), k.size(1), mask, [&](const Part& part) {
    at::Tensor scores =
        at::matmul(by_key_head(q, part, key_heads, sums), keys_of(k, part, sums).transpose(2, 3));
    scores.mul_(scale);
    add_bias(scores, part, q.size(1), bias);
    hide(scores, part, mask, visible);
    const at::Tensor total = at::logsumexp(scores, 3);
    put_back(result.out, at::matmul(scores.sub_(shift_of(total)).exp_(), keys_of(v, part, sums)), part);
    lse.narrow(3, part.first, part.count).copy_(total.unflatten(2, {group, part.count}));
  });
  return result;
}

kernels::AttentionBlockGradients composed_attention_backward(const at::Tensor& grad, const at::Tensor& q,
                                                             const at::Tensor& k, const at::Tensor& v,
                                                             const kernels::AttentionBlock& forward,
                                                             const AttentionMask& mask, double scale,
                                                             at::ScalarType dtype, const VisibleKeys& visible,
                                                             const ScoreBias& bias) {
  const at::ScalarType sums = sum_dtype(q.scalar_type());
  const int64_t key_heads = k.size(2), group = q.size(2) / key_heads;
  const auto options = q.options().requires_grad(false);
  const at::Tensor dq = at::empty(q.sizes(), options.dtype(dtype));
  const at::Tensor dk = at::zeros(k.sizes(), options.dtype(sums)),
                   dv = at::zeros(v.sizes(), options.dtype(sums));
  const at::Tensor dbias =
      bias.wants_gradient ? at::zeros(bias.values.sizes(), options.dtype(sums)) : at::Tensor();
  const at::Tensor lse = forward.lse.unflatten(1, {key_heads, group});
  for_parts(q.size(1), k.size(1), mask, [&](const Part& part) {
    const at::Tensor queries = by_key_head(q, part, key_heads, sums),
                     dout = by_key_head(grad, part, key_heads, sums);
    const at::Tensor out = by_key_head(forward.out, part, key_heads, sums);
    const at::Tensor keys = keys_of(k, part, sums), values = keys_of(v, part, sums);
    at::Tensor probabilities = at::matmul(queries, keys.transpose(2, 3)).mul_(scale);
    add_bias(probabilities, part, q.size(1), bias);
    hide(probabilities, part, mask, visible);
    probabilities.sub_(shift_of(lse.narrow(3, part.first, part.count).flatten(2, 3))).exp_();
    // d scores = p * (dp - sum of dout * out)
    at::Tensor dscores = at::matmul(dout, values.transpose(2, 3)).sub_((dout * out).sum(3, /*keepdim=*/true));
    dscores.mul_(probabilities);
    if (dbias.defined()) {
      const at::Tensor by_head = dscores.unflatten(2, {group, part.count}).flatten(1, 2);
      add_bias_gradient(dbias, by_head, score_part(part, q.size(1)), bias.by_distance);
    }
    dscores.mul_(scale);
    put_back(dq, at::matmul(dscores, keys), part);
    const auto of_keys = [&](const at::Tensor& all) {
      return all.narrow(1, part.key, part.keys).transpose(1, 2);
    };
    of_keys(dk).add_(at::matmul(dscores.transpose(2, 3), queries));
    of_keys(dv).add_(at::matmul(probabilities.transpose(2, 3), dout));
  });
  return {dq, dk.to(dtype), dv.to(dtype), dbias};
}

}  // namespace d9d::cuda
