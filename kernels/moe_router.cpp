#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <numeric>

#include "kernels/dispatch.hpp"
#include "kernels/moe.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
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

// Saved: softmax [T, E], experts.
class RouterNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_router"; }
  bool renormalise = false;
  at::ScalarType dtype = at::kFloat;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    const at::Tensor softmax = saved(0), experts = saved(1), dprobs = grads[0].contiguous();
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
    return {dlogits.to(dtype)};
  }
};

}  // namespace

std::tuple<at::Tensor, at::Tensor> moe_router(const at::Tensor& logits, int64_t top_k, bool renormalise) {
  TORCH_CHECK(logits.dim() == 2 && top_k >= 1 && top_k <= logits.size(1), "moe_router of logits ",
              logits.sizes(), " with top_k ", top_k, ": expected [T, E] and 1 <= top_k <= E");
  const auto node = node_for<RouterNode>({logits});
  const int64_t tokens = logits.size(0), width = logits.size(1);
  const auto options = logits.options().requires_grad(false).dtype(sum_dtype(logits.scalar_type()));
  at::Tensor softmax, probs, experts;
  {
    BelowAutograd below;
    const at::Tensor rows = logits.contiguous();
    softmax = at::empty({tokens, width}, options);
    probs = at::empty({tokens, top_k}, options);
    experts = at::empty({tokens, top_k}, options.dtype(at::kLong));
    dispatch(logits.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      using S = Sum<T>;
      for_rows(tokens, width, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          S* row = data_of<S>(softmax) + t * width;
          S* p = data_of<S>(probs) + t * top_k;
          kernel_table<T>().softmax_row(width, data_of<T>(rows) + t * width, row);
          select(row, width, top_k, p, data_of<int64_t>(experts) + t * top_k);
          if (!renormalise) continue;
          const S norm = std::accumulate(p, p + top_k, static_cast<S>(renormalise_floor));
          for (int64_t j = 0; j < top_k; ++j) p[j] /= norm;
        }
      });
    });
  }
  if (node) {
    node->renormalise = renormalise;
    node->dtype = logits.scalar_type();
    node->save({softmax, experts});
    torch::autograd::set_history(probs, node);
  }
  return {probs, experts};
}

}  // namespace d9d::kernels
