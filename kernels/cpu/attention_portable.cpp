#include "kernels/cpu/attention_portable.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "kernels/attention/score_bias.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels::cpu {
namespace {

// [B, S, Hkv, D] -> [B, Hq, S, D]
at::Tensor to_query_heads(const at::Tensor& x, int64_t query_heads) {
  const int64_t group = query_heads / x.size(2);
  if (group == 1) return x.transpose(1, 2);
  return x.unsqueeze(3)
      .expand({x.size(0), x.size(1), x.size(2), group, x.size(3)})
      .reshape({x.size(0), x.size(1), query_heads, x.size(3)})
      .transpose(1, 2);
}

// [B, Hq, S, D] -> [B, S, Hkv, D], summed over each group
at::Tensor to_key_heads(const at::Tensor& grad, int64_t key_heads) {
  const at::Tensor by_token = grad.transpose(1, 2);
  const int64_t group = by_token.size(2) / key_heads;
  if (group == 1) return by_token;
  return by_token.reshape({by_token.size(0), by_token.size(1), key_heads, group, by_token.size(3)}).sum(3);
}

// Whether torch's kernel knows the mask without biases: no mask, or its own causal one.
bool is_plain(const AttentionMask& mask, const at::Tensor& q, const at::Tensor& k) {
  return mask == full_mask || (mask == causal_mask && q.size(1) == k.size(1));
}

// What the queries of a sequence see: the keys of the mask that are in [first_keys, key_ends); null: no such limit.
struct Seen {
  AttentionMask mask;
  int64_t keys;
  const int64_t* first_keys = nullptr;
  const int64_t* key_ends = nullptr;

  int64_t first(int64_t i) const {
    const int64_t of_mask = first_key(mask, i);
    return first_keys ? std::max(of_mask, first_keys[i]) : of_mask;
  }
  int64_t end(int64_t i) const {
    const int64_t of_mask = end_of_keys(mask, i, keys);
    return key_ends ? std::min(of_mask, key_ends[i]) : of_mask;
  }
  bool may_be_nothing() const { return first_keys || key_ends; }
};

// Some adjacent queries, and the range of keys that at least one of them sees. Scores and biases exist
// only for these keys. The range has at least one key, even if no query sees it.
struct Rectangle {
  int64_t first, queries;
  int64_t first_key, keys;
};
std::vector<Rectangle> rectangles_of(const Seen& seen, int64_t all) {
  constexpr int64_t queries_at_once = 128;
  std::vector<Rectangle> rectangles;
  for (int64_t first = 0; first < all; first += queries_at_once) {
    const int64_t queries = std::min(queries_at_once, all - first);
    const int64_t end = std::max<int64_t>(seen.end(first + queries - 1), 1);
    const int64_t key = std::min(seen.first(first), end - 1);
    rectangles.push_back({first, queries, key, end - key});
  }
  return rectangles;
}

template <class T>
at::Tensor biases_of(const Seen& seen, const Rectangle& at, at::ScalarType dtype) {
  at::Tensor bias = at::full({1, 1, at.queries, at.keys}, -std::numeric_limits<double>::infinity(), dtype);
  auto* row = static_cast<T*>(bias.data_ptr());
  for (int64_t i = 0; i < at.queries; ++i, row += at.keys) {
    const int64_t begin = std::max(seen.first(at.first + i), at.first_key) - at.first_key;
    const int64_t end = seen.end(at.first + i) - at.first_key;
    if (begin < end) std::fill(row + begin, row + end, T(0));
  }
  return bias;
}

// Returns biases that are added to the scores: 0 where the query sees the key, else -infinity. torch
// needs fp32 biases for bf16.
at::Tensor biases_of(const Seen& seen, const Rectangle& at, const at::Tensor& q) {
  return q.scalar_type() == at::kDouble ? biases_of<double>(seen, at, at::kDouble)
                                        : biases_of<float>(seen, at, at::kFloat);
}

AttentionBlock forward_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                          const std::optional<at::Tensor>& bias, double scale, at::ScalarType dtype) {
  auto [out, lse] =
      at::_scaled_dot_product_flash_attention_for_cpu(q.transpose(1, 2), to_query_heads(k, q.size(2)),
                                                      to_query_heads(v, q.size(2)), 0.0, causal, bias, scale);
  return {out.transpose(1, 2).to(dtype), lse};
}

AttentionBlockGradients backward_of(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                                    const at::Tensor& v, const AttentionBlock& forward, bool causal,
                                    const std::optional<at::Tensor>& bias, double scale,
                                    at::ScalarType dtype) {
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      grad.to(q.scalar_type()).transpose(1, 2), q.transpose(1, 2), to_query_heads(k, q.size(2)),
      to_query_heads(v, q.size(2)), forward.out.to(q.scalar_type()).transpose(1, 2), forward.lse.contiguous(),
      0.0, causal, bias, scale);
  return {dq.transpose(1, 2).to(dtype), to_key_heads(dk, k.size(2)).to(dtype),
          to_key_heads(dv, k.size(2)).to(dtype)};
}

at::Tensor queries_of(const at::Tensor& x, const Rectangle& at) {
  return x.narrow(1, at.first, at.queries);
}
at::Tensor keys_of(const at::Tensor& x, const Rectangle& at) {
  return x.narrow(1, at.first_key, at.keys);
}

// Sets the results of queries that see no key: out 0, lse -infinity. A softmax over biases
// of -infinity is NaN.
void clear_blind(const AttentionBlock& part, const Seen& seen, const Rectangle& at) {
  for (int64_t i = 0; i < at.queries; ++i) {
    if (seen.first(at.first + i) < seen.end(at.first + i)) continue;
    part.out.select(1, i).zero_();
    part.lse.select(2, i).fill_(-std::numeric_limits<double>::infinity());
  }
}

ScorePart part_of(const Rectangle& at, int64_t queries) {
  return {queries, at.first, at.queries, at.first_key, at.keys};
}

// What is added to the scores of a rectangle: of the keys that are seen, and the bias.
at::Tensor biases_of(const Seen& seen, const Rectangle& at, const at::Tensor& q, const ScoreBias& bias) {
  const at::Tensor of_keys = biases_of(seen, at, q);
  if (!bias.any()) return of_keys;
  return of_keys + bias_of_part(bias, part_of(at, q.size(1)), of_keys.scalar_type());
}

// The same as clear_blind() where biases [B or 1, Hq or 1, queries, keys] hide keys, too.
void clear_blind(const AttentionBlock& part, const at::Tensor& biases) {
  const double hidden = -std::numeric_limits<double>::infinity();
  const at::Tensor blind = biases.amax(3) == hidden;
  part.out.masked_fill_(blind.transpose(1, 2).unsqueeze(3), 0);
  part.lse.masked_fill_(blind, hidden);
}

AttentionBlock banded_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Seen& seen,
                              double scale, at::ScalarType dtype, const ScoreBias& bias) {
  std::vector<at::Tensor> outs, lses;
  for (const Rectangle& at : rectangles_of(seen, q.size(1))) {
    const at::Tensor biases = biases_of(seen, at, q, bias);
    const AttentionBlock part =
        forward_of(queries_of(q, at), keys_of(k, at), keys_of(v, at), false, biases, scale, dtype);
    if (bias.any()) {
      clear_blind(part, biases);
    } else if (seen.may_be_nothing()) {
      clear_blind(part, seen, at);
    }
    outs.push_back(part.out);
    lses.push_back(part.lse);
  }
  return {at::cat(outs, 1), at::cat(lses, 2)};
}

// The gradient of the scores of a rectangle, p (dout v^T - dout . out), [B, Hq, queries, keys]: torch's kernel gives
// none of its biases.
at::Tensor score_gradients(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, const AttentionBlock& forward, const at::Tensor& biases,
                           double scale) {
  const auto wide = [&](const at::Tensor& x) { return x.to(biases.scalar_type()); };
  const auto of_keys = [&](const at::Tensor& x) {
    return wide(to_query_heads(x, q.size(2))).transpose(2, 3);
  };
  const at::Tensor dout = wide(grad).transpose(1, 2), out = wide(forward.out).transpose(1, 2);
  at::Tensor p = at::matmul(wide(q).transpose(1, 2), of_keys(k)).mul_(scale).add_(biases);
  p.sub_(wide(forward.lse).unsqueeze(3)).exp_();
  return at::matmul(dout, of_keys(v)).sub_((dout * out).sum(3, /*keepdim=*/true)).mul_(p);
}

// `dbias`: the gradient of the bias is added to it; undefined: not wanted.
AttentionBlockGradients banded_backward(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v, const AttentionBlock& forward, const Seen& seen,
                                        double scale, at::ScalarType dtype, const ScoreBias& bias,
                                        const at::Tensor& dbias) {
  const auto sums = q.options().requires_grad(false).dtype(sum_dtype(q.scalar_type()));
  std::vector<at::Tensor> dqs;
  const at::Tensor dk = at::zeros(k.sizes(), sums), dv = at::zeros(v.sizes(), sums);
  for (const Rectangle& at : rectangles_of(seen, q.size(1))) {
    const at::Tensor biases = biases_of(seen, at, q, bias);
    at::Tensor lse = forward.lse.narrow(2, at.first, at.queries);
    // Of a query that sees no key at all it is -infinity, as the biases are, and exp(-inf + inf) is NaN.
    if (seen.may_be_nothing() || bias.any())
      lse = lse.masked_fill(lse == -std::numeric_limits<double>::infinity(), 0);
    const AttentionBlock whole{queries_of(forward.out, at), lse};
    const at::Tensor dout = queries_of(grad, at), queries = queries_of(q, at);
    const auto part = backward_of(dout, queries, keys_of(k, at), keys_of(v, at), whole, false, biases, scale,
                                  sums.dtype().toScalarType());
    dqs.push_back(part.dq.to(dtype));
    keys_of(dk, at).add_(part.dk);
    keys_of(dv, at).add_(part.dv);
    if (!dbias.defined()) continue;
    const at::Tensor of_scores =
        score_gradients(dout, queries, keys_of(k, at), keys_of(v, at), whole, biases, scale);
    add_bias_gradient(dbias, of_scores, part_of(at, q.size(1)), bias.by_distance);
  }
  return {at::cat(dqs, 1), dk.to(dtype), dv.to(dtype), dbias};
}

// Calls f(part of a tensor [B, ..], what its queries see) for each sequence, because their bands differ.
template <class F>
void for_each_sequence(const AttentionMask& mask, const at::Tensor& k, const VisibleKeys& visible, F&& f) {
  for (int64_t b = 0; b < k.size(0); ++b) {
    const auto sequence = [b](const at::Tensor& x) { return x.narrow(0, b, 1); };
    f(sequence, Seen{mask, k.size(1), limits_of(visible.first, b), limits_of(visible.end, b)});
  }
}

// Of one sequence of the batch.
at::Tensor sequence_of(const at::Tensor& of_bias, int64_t b) {
  return !of_bias.defined() || of_bias.size(0) == 1 ? of_bias : of_bias.narrow(0, b, 1);
}

}  // namespace

AttentionBlock attention_portable(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionMask& mask, double scale, at::ScalarType dtype,
                                  const VisibleKeys& visible, const ScoreBias& bias) {
  if (!visible.any()) {
    if (is_plain(mask, q, k) && !bias.any())
      return forward_of(q, k, v, mask == causal_mask, {}, scale, dtype);
    return banded_forward(q, k, v, {mask, k.size(1)}, scale, dtype, bias);
  }
  std::vector<at::Tensor> outs, lses;
  for_each_sequence(mask, k, visible, [&](const auto& of, const Seen& seen) {
    const ScoreBias its{sequence_of(bias.values, std::ssize(outs)), bias.by_distance};
    const AttentionBlock part = banded_forward(of(q), of(k), of(v), seen, scale, dtype, its);
    outs.push_back(part.out);
    lses.push_back(part.lse);
  });
  return {at::cat(outs, 0), at::cat(lses, 0)};
}

AttentionBlockGradients attention_backward_portable(const at::Tensor& grad, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v,
                                                    const AttentionBlock& forward, const AttentionMask& mask,
                                                    double scale, at::ScalarType dtype,
                                                    const VisibleKeys& visible, const ScoreBias& bias) {
  at::Tensor dbias;
  if (bias.wants_gradient) {
    dbias =
        at::zeros(bias.values.sizes(), q.options().requires_grad(false).dtype(sum_dtype(q.scalar_type())));
  }
  if (!visible.any()) {
    if (is_plain(mask, q, k) && !bias.any()) {
      return backward_of(grad, q, k, v, forward, mask == causal_mask, {}, scale, dtype);
    }
    return banded_backward(grad, q, k, v, forward, {mask, k.size(1)}, scale, dtype, bias, dbias);
  }
  std::vector<at::Tensor> dqs, dks, dvs;
  for_each_sequence(mask, k, visible, [&](const auto& of, const Seen& seen) {
    const std::int64_t b = std::ssize(dqs);
    const ScoreBias its{sequence_of(bias.values, b), bias.by_distance};
    const auto part = banded_backward(of(grad), of(q), of(k), of(v), {of(forward.out), of(forward.lse)}, seen,
                                      scale, dtype, its, sequence_of(dbias, b));
    dqs.push_back(part.dq);
    dks.push_back(part.dk);
    dvs.push_back(part.dv);
  });
  return {at::cat(dqs, 0), at::cat(dks, 0), at::cat(dvs, 0), dbias};
}

}  // namespace d9d::kernels::cpu
