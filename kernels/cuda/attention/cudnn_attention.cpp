#include "kernels/cuda/attention/cudnn_attention.hpp"

#include <ATen/Context.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/empty.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>

#include "kernels/cuda/capability.hpp"

namespace d9d::cuda {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionBlockGradients;
using kernels::AttentionMask;

// Without a word, too.
bool environment_says_cudnn() {
  const char* const given = std::getenv("D9D_CUDA_ATTENTION");
  const std::string word = given == nullptr || *given == '\0' ? "cudnn" : given;
  TORCH_CHECK(word == "cudnn" || word == "flash", "D9D_CUDA_ATTENTION is \"", word,
              "\", expected cudnn or flash");
  return word == "cudnn";
}

bool is_wanted() {
  static const bool of_environment = environment_says_cudnn();
  const at::Context& context = at::globalContext();
  return of_environment && context.userEnabledCuDNNSDP() && !context.deterministicAlgorithms();
}

// A plan takes cuDNN some 100 ms: it is worth that for the lengths of a training, not for each of texts.
bool is_usual(int64_t length) {
  return length % 128 == 0;
}

// The diagonal of its causal mask begins at the first key. Wide heads it knows on 9.0 alone.
bool is_for_cudnn(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask) {
  const bool no_window = mask.before == AttentionMask::unlimited;
  const bool full = no_window && mask.after == AttentionMask::unlimited;
  const bool causal = no_window && mask.after == 0 && mask.offset == 0 && q.size(1) == k.size(1);
  if (!is_wanted() || !(full || causal) || !is_usual(q.size(1)) || !is_usual(k.size(1)) ||
      q.size(3) != v.size(3))
    return false;
  const int capability = compute_capability(q);
  return capability >= 90 && q.size(3) <= (capability == 90 ? 256 : 128);
}

// By what cuDNN is asked whether it can do a call.
using Sizes = std::array<int64_t, 7>;
Sizes sizes_of(const at::Tensor& q, const at::Tensor& k, const AttentionMask& mask, bool is_backward) {
  return {q.size(1), k.size(1), q.size(2), k.size(2), q.size(3), mask.after, is_backward};
}

// What it has refused. It is not asked again, because ATen keeps the plan of a call under its sizes before it is made,
// and would run one that was never made. Plans are the thread's.
std::set<Sizes>& refused() {
  thread_local std::set<Sizes> of_thread;
  return of_thread;
}

template <class F>
auto unless_refused(const Sizes& sizes, F&& attend) -> std::optional<decltype(attend())> {
  if (refused().contains(sizes)) return {};
  try {
    return attend();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    refused().insert(sizes);
    TORCH_WARN("cuDNN refuses attention", sizes.back() != 0 ? "'s backward" : "", " of ", sizes[0],
               " queries to ", sizes[1], " keys, ", sizes[2], " heads to ", sizes[3], " of ", sizes[4],
               " elements; FlashAttention computes it from now on: ", error.what_without_backtrace());
    return {};
  }
}

// [B, S, H, D] as [B, H, S, D] and back.
at::Tensor turned(const at::Tensor& heads) {
  return heads.transpose(1, 2);
}

}  // namespace

std::optional<AttentionBlock> cudnn_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                              const AttentionMask& mask, double scale) {
  if (!is_for_cudnn(q, k, v, mask)) return {};
  return unless_refused(sizes_of(q, k, mask, false), [&] {
    const auto result = at::_scaled_dot_product_cudnn_attention(
        turned(q), turned(k), turned(v), /*attn_bias=*/{}, /*compute_log_sumexp=*/true, /*dropout_p=*/0,
        mask.after == 0, /*return_debug_mask=*/false, scale);
    // The lse is [B, Hq, Sq, 1].
    return AttentionBlock{turned(std::get<0>(result)).contiguous(), std::get<1>(result).squeeze(3)};
  });
}

std::optional<AttentionBlockGradients> cudnn_attention_backward(const at::Tensor& grad, const at::Tensor& q,
                                                                const at::Tensor& k, const at::Tensor& v,
                                                                const AttentionBlock& forward,
                                                                const AttentionMask& mask, double scale) {
  if (!is_for_cudnn(q, k, v, mask)) return {};
  // ATen's plans go by the strides of q, k and v: those of the others must follow from their sizes.
  const auto dense = [&](const at::Tensor& x) { return turned(x.to(q.scalar_type()).contiguous()); };
  return unless_refused(sizes_of(q, k, mask, true), [&] {
    const at::Tensor unused = at::empty({}, q.options().dtype(at::kLong));  // the state of a dropout of 0
    const auto [dq, dk, dv] = at::_scaled_dot_product_cudnn_attention_backward(
        dense(grad), turned(q), turned(k), turned(v), dense(forward.out),
        forward.lse.contiguous().unsqueeze(3), unused, unused, /*attn_bias=*/{}, /*cum_seq_q=*/{},
        /*cum_seq_k=*/{}, q.size(1), k.size(1), /*dropout_p=*/0, mask.after == 0, scale);
    return AttentionBlockGradients{turned(dq), turned(dk), turned(dv)};
  });
}

}  // namespace d9d::cuda
