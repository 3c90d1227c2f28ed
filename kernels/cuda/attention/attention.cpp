// cuDNN or FlashAttention where one can do a call, else products and softmax over blocks of queries.
#include "kernels/cuda/attention/attention.hpp"

#include <ATen/TensorOperators.h>

#include "kernels/cuda/attention/composed_attention.hpp"
#include "kernels/cuda/attention/cudnn_attention.hpp"
#include "kernels/cuda/attention/flash_attention.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/ops/backend.hpp"

namespace d9d::cuda {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionBlockGradients;
using kernels::AttentionMask;
using kernels::ScoreBias;
using kernels::VisibleKeys;

// What FlashAttention is asked for beside heads and mask.
struct FlashCall {
  std::optional<Documents> documents;
};

// Its masks have no limit, or the last query stands at the last key. Of a query without a key it says +inf for the
// logarithm of a sum that is 0.
bool is_band_for_flash(const AttentionMask& mask, int64_t queries, int64_t keys) {
  const bool limits_nothing =
      mask.before == AttentionMask::unlimited && mask.after == AttentionMask::unlimited;
  return limits_nothing || (queries <= keys && mask.offset == keys - queries);
}

// Nothing where it cannot compute a call. In rows of several documents each token sees tokens before it.
std::optional<FlashCall> flash_call(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const AttentionMask& mask, const VisibleKeys& visible) {
  if (!has_heads_for_flash(q, k, v) || !is_band_for_flash(mask, q.size(1), k.size(1)) ||
      visible.end.defined())
    return {};
  if (!visible.first.defined()) return FlashCall{};
  if (mask.after != 0 || mask.offset != 0) return {};
  std::optional<Documents> documents = documents_of(visible.first);
  if (!documents) return {};
  return FlashCall{std::move(documents)};
}

// Nothing where attention is composed. c10::Error where the job asks for what cannot be.
std::optional<FlashCall> chosen_call(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const AttentionMask& mask, const VisibleKeys& visible,
                                     const ScoreBias& bias) {
  using kernels::AttentionBackend;
  const AttentionBackend chosen = kernels::backends().attention;
  TORCH_CHECK(chosen != AttentionBackend::own,
              "attention: CUDA has no backend `own`; choose library, composed or auto (node.attention, "
              "D9D_ATTENTION)");
  if (chosen == AttentionBackend::composed) return {};
  std::optional<FlashCall> call = bias.any() ? std::nullopt : flash_call(q, k, v, mask, visible);
  TORCH_CHECK(
      chosen != AttentionBackend::library || call || q.numel() == 0, "attention of ", q.scalar_type(),
      " heads of ", q.size(3), " and values of ", v.size(3), visible.any() ? ", documents or padding" : "",
      bias.any() ? ", with a bias of the scores" : "",
      ": the backend `library` needs bfloat16, documents that are causal and no padding, masks that end with "
      "the last key, and widths that are multiples of 8 and at most 256, and has no biases; choose composed "
      "or auto (node.attention, D9D_ATTENTION)");
  return call;
}

// By cuDNN where it can, else by FlashAttention.
AttentionBlock by_library(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const AttentionMask& mask, double scale, const FlashCall& call) {
  if (!call.documents) {
    if (const auto block = cudnn_attention(q, k, v, mask, scale)) return *block;
  }
  return flash_attention(q, k, v, mask, scale, call.documents);
}
AttentionBlockGradients by_library_backward(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                                            const at::Tensor& v, const AttentionBlock& forward,
                                            const AttentionMask& mask, double scale, const FlashCall& call) {
  if (!call.documents) {
    if (const auto gradients = cudnn_attention_backward(grad, q, k, v, forward, mask, scale))
      return *gradients;
  }
  return flash_attention_backward(grad, q, k, v, forward, mask, scale, call.documents);
}

AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible, const ScoreBias& bias) {
  const c10::DeviceGuard guard(q.device());
  const auto call = chosen_call(q, k, v, mask, visible, bias);
  if (!call) return composed_attention(q, k, v, mask, scale, dtype, visible, bias);
  const AttentionBlock block = by_library(q, k, v, mask, scale, *call);
  return {block.out.to(dtype), block.lse};
}

AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, at::ScalarType dtype,
                                                 const VisibleKeys& visible, const ScoreBias& bias) {
  const c10::DeviceGuard guard(q.device());
  const auto call = chosen_call(q, k, v, mask, visible, bias);
  if (!call) return composed_attention_backward(grad, q, k, v, forward, mask, scale, dtype, visible, bias);
  const auto found = by_library_backward(grad, q, k, v, forward, mask, scale, *call);
  return {found.dq.to(dtype), found.dk.to(dtype), found.dv.to(dtype)};
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
