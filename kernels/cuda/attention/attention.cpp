// FlashAttention 2 of ATen where it can do a call, else products and softmax over blocks of queries.
#include "kernels/cuda/attention/attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/empty.h>

#include "kernels/cuda/attention/composed_attention.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/ops/backend.hpp"

namespace d9d::cuda {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionBlockGradients;
using kernels::AttentionMask;
using kernels::VisibleKeys;

bool limits_nothing(const AttentionMask& mask) {
  return mask.before == AttentionMask::unlimited && mask.after == AttentionMask::unlimited;
}

// Heads that can be read in packs.
bool has_packs(const at::Tensor& heads) {
  return heads.stride(3) == 1 && heads.stride(0) % 8 == 0 && heads.stride(1) % 8 == 0 &&
         heads.stride(2) % 8 == 0 && begins_at_a_pack(heads);
}

// It takes bfloat16 heads of up to 256 elements, and bands whose last query stands at the last key.
bool is_for_flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                  const VisibleKeys& visible) {
  return q.is_cuda() && q.scalar_type() == at::kBFloat16 && !visible.any() && q.size(3) == v.size(3) &&
         q.size(3) % 8 == 0 && q.size(3) <= 256 && q.numel() > 0 && k.numel() > 0 && has_packs(q) &&
         has_packs(k) && has_packs(v) && (limits_nothing(mask) || mask.offset == k.size(1) - q.size(1));
}

// Whether FlashAttention computes it. c10::Error where the job asks for what cannot be.
bool takes_flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                 const VisibleKeys& visible) {
  using kernels::AttentionBackend;
  const bool possible = is_for_flash(q, k, v, mask, visible);
  const AttentionBackend chosen = kernels::backends().attention;
  TORCH_CHECK(chosen != AttentionBackend::own,
              "attention: CUDA has no backend `own`; choose library, composed or auto (node.attention, "
              "D9D_ATTENTION)");
  TORCH_CHECK(chosen != AttentionBackend::library || possible || q.numel() == 0, "attention of ",
              q.scalar_type(), " heads of ", q.size(3), " and values of ", v.size(3),
              visible.any() ? ", documents or padding" : "",
              ": the backend `library` needs bfloat16, rows of one document, masks that end with the last "
              "key, and both widths equal, a multiple of 8 and at most 256; choose composed or auto "
              "(node.attention, D9D_ATTENTION)");
  return possible && chosen != AttentionBackend::composed;
}

// -1: no limit.
std::optional<int64_t> window(int64_t limit) {
  return limit == AttentionMask::unlimited ? -1 : limit;
}

bool is_causal(const AttentionMask& mask) {
  return mask.before == AttentionMask::unlimited && mask.after == 0;
}

AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible) {
  const c10::DeviceGuard guard(q.device());
  if (!takes_flash(q, k, v, mask, visible)) return composed_attention(q, k, v, mask, scale, dtype, visible);
  const auto result = at::_flash_attention_forward(q, k, v, {}, {}, q.size(1), k.size(1), /*dropout_p=*/0,
                                                   is_causal(mask), /*return_debug_mask=*/false, scale,
                                                   window(mask.before), window(mask.after));
  return {std::get<0>(result).to(dtype), std::get<1>(result)};
}

AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, at::ScalarType dtype,
                                                 const VisibleKeys& visible) {
  const c10::DeviceGuard guard(q.device());
  if (!takes_flash(q, k, v, mask, visible))
    return composed_attention_backward(grad, q, k, v, forward, mask, scale, dtype, visible);
  const auto of_type = [&](const at::Tensor& x) { return x.to(q.scalar_type()); };
  const at::Tensor unused = at::empty({2}, q.options().dtype(at::kUInt64));  // the state of a dropout of 0
  const auto result = at::_flash_attention_backward(
      of_type(grad), q, k, v, of_type(forward.out), forward.lse.contiguous(), {}, {}, q.size(1), k.size(1),
      /*dropout_p=*/0, is_causal(mask), unused, unused, scale, window(mask.before), window(mask.after));
  return {std::get<0>(result).to(dtype), std::get<1>(result).to(dtype), std::get<2>(result).to(dtype)};
}

HeadsOut heads_of(const at::Tensor& out) {
  return {out.data_ptr<float>(), out.stride(0), out.stride(1), out.stride(2)};
}
HeadsLse lse_of(const at::Tensor& lse) {
  return {lse.data_ptr<float>(), lse.stride(0), lse.stride(1), lse.stride(2)};
}

void merge(const kernels::AttentionBlock& into, const kernels::AttentionBlock& block) {
  const c10::DeviceGuard guard(into.out.device());
  TORCH_CHECK(into.out.scalar_type() == at::kFloat, "merge_attention_block of ", into.out.scalar_type(),
              " blocks: the CUDA kernels of d9d take float32");
  check_launch(merge_blocks({.batch = into.out.size(0),
                             .length = into.out.size(1),
                             .heads = into.out.size(2),
                             .dim = into.out.size(3),
                             .out = heads_of(into.out),
                             .block_out = heads_of(block.out),
                             .lse = lse_of(into.lse),
                             .block_lse = lse_of(block.lse)},
                            stream_of(into.out)),
               "merge_attention_block");
}

}  // namespace

void add_attention(kernels::OpTable& table) {
  table.attention_block = attention_block;
  table.attention_block_backward = attention_block_backward;
  table.merge_attention_block = merge;
}

}  // namespace d9d::cuda
