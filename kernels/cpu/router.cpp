#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <numeric>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// The tiny number that keeps a sum of vanished probabilities divisible.
constexpr double renormalise_floor = 1e-20;

// The k largest, ties to the lower index; k is small, so selection beats sorting.
template <class S>
void select(const S* softmax, int64_t experts, int64_t top_k, S* probs, int64_t* chosen) {
  for (int64_t j = 0; j < top_k; ++j) {
    int64_t best = -1;
    for (int64_t e = 0; e < experts; ++e) {
      if (std::find(chosen, chosen + j, e) != chosen + j) continue;
      // NaN compares false: the first free expert is taken, so that a broken step still has valid indices.
      if (best < 0 || softmax[e] > softmax[best]) best = e;
    }
    chosen[j] = best;
    probs[j] = softmax[best];
  }
}

// With s = softmax(z), selected values v_j = s[e_j], sum n and p_j = v_j / n (or v_j):
//   dv_j = (dp_j - sum_i dp_i p_i) / n,  dz = s * (ds - sum_e ds_e s_e).
template <class S>
void router_row_backward(const S* softmax, const int64_t* chosen, const S* dprobs, int64_t experts,
                         int64_t top_k, bool renormalise, S* dlogits) {
  S norm = 1, mean = 0;
  if (renormalise) {
    norm = static_cast<S>(renormalise_floor);
    for (int64_t j = 0; j < top_k; ++j) norm += softmax[chosen[j]];
    for (int64_t j = 0; j < top_k; ++j) mean += dprobs[j] * softmax[chosen[j]] / norm;
  }
  S dot = 0;
  for (int64_t j = 0; j < top_k; ++j) dot += (dprobs[j] - mean) / norm * softmax[chosen[j]];
  for (int64_t e = 0; e < experts; ++e) dlogits[e] = -softmax[e] * dot;
  for (int64_t j = 0; j < top_k; ++j) dlogits[chosen[j]] += (dprobs[j] - mean) / norm * softmax[chosen[j]];
}

Routing moe_router(const at::Tensor& logits, int64_t top_k, bool renormalise) {
  const int64_t tokens = logits.size(0), width = logits.size(1);
  const auto options = logits.options().requires_grad(false).dtype(sum_dtype(logits.scalar_type()));
  const at::Tensor rows = logits.contiguous();
  Routing result{at::empty({tokens, width}, options), at::empty({tokens, top_k}, options),
                 at::empty({tokens, top_k}, options.dtype(at::kLong))};
  dispatch(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(tokens, width, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        S* row = data_of<S>(result.softmax) + t * width;
        S* p = data_of<S>(result.probs) + t * top_k;
        loop_table<T>().softmax_row(width, data_of<T>(rows) + t * width, row);
        select(row, width, top_k, p, data_of<int64_t>(result.experts) + t * top_k);
        if (!renormalise) continue;
        const S norm = std::accumulate(p, p + top_k, static_cast<S>(renormalise_floor));
        for (int64_t j = 0; j < top_k; ++j) p[j] /= norm;
      }
    });
  });
  return result;
}

at::Tensor moe_router_backward(const at::Tensor& grad, const at::Tensor& softmax, const at::Tensor& experts,
                               bool renormalise) {
  const at::Tensor dprobs = grad.contiguous();
  const int64_t width = softmax.size(1), top_k = experts.size(1);
  at::Tensor dlogits = at::empty_like(softmax);
  dispatch(softmax.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    for_rows(softmax.size(0), width, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        router_row_backward<S>(data_of<S>(softmax) + t * width, data_of<int64_t>(experts) + t * top_k,
                               data_of<S>(dprobs) + t * top_k, width, top_k, renormalise,
                               data_of<S>(dlogits) + t * width);
      }
    });
  });
  return dlogits;
}

}  // namespace

void add_router(OpTable& table) {
  table.moe_router = moe_router;
  table.moe_router_backward = moe_router_backward;
}

}  // namespace d9d::kernels::cpu
