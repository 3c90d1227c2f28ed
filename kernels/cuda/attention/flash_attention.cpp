#include "kernels/cuda/attention/flash_attention.hpp"

#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionBlockGradients;
using kernels::AttentionMask;

// Heads that can be read in packs.
bool has_packs(const at::Tensor& heads) {
  return heads.size(3) % 8 == 0 && heads.stride(3) == 1 && heads.stride(0) % 8 == 0 &&
         heads.stride(1) % 8 == 0 && heads.stride(2) % 8 == 0 && begins_at_a_pack(heads);
}

// -1: no limit.
std::optional<int64_t> window(int64_t limit) {
  return limit == AttentionMask::unlimited ? -1 : limit;
}

bool is_causal(const AttentionMask& mask) {
  return mask.before == AttentionMask::unlimited && mask.after == 0;
}

// Zeros add nothing to scores and sums.
at::Tensor with_width(const at::Tensor& heads, int64_t width) {
  if (heads.size(3) < width) return at::constant_pad_nd(heads, {0, width - heads.size(3)});
  return heads.size(3) == width ? heads : heads.narrow(3, 0, width).contiguous();
}

// Heads [B, S, H, D] as a call takes them: with documents the rows one after the other.
at::Tensor rows_in(const at::Tensor& heads, int64_t width, const std::optional<Documents>& documents) {
  const at::Tensor wide = with_width(heads, width);
  return documents ? wide.flatten(0, 1) : wide;
}
// Results of a call in the shape of `heads`.
at::Tensor rows_out(const at::Tensor& result, const at::Tensor& heads, int64_t width,
                    const std::optional<Documents>& documents) {
  return with_width(documents ? result.unflatten(0, heads.sizes().slice(0, 2)) : result, width);
}

int64_t longest_of(const at::Tensor& heads, const std::optional<Documents>& documents) {
  return documents ? documents->longest : heads.size(1);
}

}  // namespace

bool has_heads_for_flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return q.is_cuda() && q.scalar_type() == at::kBFloat16 && std::max(q.size(3), v.size(3)) <= 256 &&
         q.numel() > 0 && k.numel() > 0 && has_packs(q) && has_packs(k) && has_packs(v);
}

AttentionBlock flash_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale,
                               const std::optional<Documents>& documents) {
  const int64_t width = std::max(q.size(3), v.size(3));
  const auto in = [&](const at::Tensor& heads) { return rows_in(heads, width, documents); };
  const auto begins = documents ? std::optional(documents->begins) : std::nullopt;
  const auto result = at::_flash_attention_forward(
      in(q), in(k), in(v), begins, begins, longest_of(q, documents), longest_of(k, documents),
      /*dropout_p=*/0, is_causal(mask), /*return_debug_mask=*/false, scale, window(mask.before),
      window(mask.after));
  at::Tensor lse = std::get<1>(result);  // with documents [Hq, B * Sq]
  if (documents) lse = lse.unflatten(1, q.sizes().slice(0, 2)).transpose(0, 1);
  return {rows_out(std::get<0>(result), q, v.size(3), documents), lse};
}

AttentionBlockGradients flash_attention_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, const std::optional<Documents>& documents) {
  const int64_t width = std::max(q.size(3), v.size(3));
  const auto in = [&](const at::Tensor& heads) {
    return rows_in(heads.to(q.scalar_type()), width, documents);
  };
  const at::Tensor begins = documents ? documents->begins : at::Tensor();
  const at::Tensor lse = documents ? forward.lse.transpose(0, 1).flatten(1) : forward.lse;
  const at::Tensor unused = at::empty({2}, q.options().dtype(at::kUInt64));  // the state of a dropout of 0
  const auto [dq, dk, dv] = at::_flash_attention_backward(
      in(grad), in(q), in(k), in(v), in(forward.out), lse.contiguous(), begins, begins,
      longest_of(q, documents), longest_of(k, documents), /*dropout_p=*/0, is_causal(mask), unused, unused,
      scale, window(mask.before), window(mask.after));
  return {rows_out(dq, q, q.size(3), documents), rows_out(dk, k, k.size(3), documents),
          rows_out(dv, v, v.size(3), documents)};
}

}  // namespace d9d::cuda
