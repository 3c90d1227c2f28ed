#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// Added to the sum of probabilities, so that a division by a sum of zeros is not NaN.
constexpr double renormalise_floor = 1e-20;

// Finds the k largest of `choice`, ties to the lower index. Selects them one by one, which beats sorting
// for a small k.
template <class S>
void select(const S* scores, const S* choice, int64_t experts, int64_t top_k, S* probs, int64_t* chosen) {
  for (int64_t j = 0; j < top_k; ++j) {
    int64_t best = -1;
    for (int64_t e = 0; e < experts; ++e) {
      if (std::find(chosen, chosen + j, e) != chosen + j) continue;
      // NaN compares false: the first free expert is taken, so that a broken step still has valid indices.
      if (best < 0 || choice[e] > choice[best]) best = e;
    }
    chosen[j] = best;
    probs[j] = scores[best];
  }
}

template <class S>
S two_largest(const S* values, int64_t count) {
  S first = -std::numeric_limits<S>::infinity(), second = first;
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] > first) {
      second = std::exchange(first, values[i]);
    } else if (values[i] > second) {
      second = values[i];
    }
  }
  return first + second;
}

// Sets the experts of all but the best groups to -infinity. Of equal groups the first ones are kept.
template <class S>
void keep_best_groups(const RouterRule& rule, std::vector<S>& choice) {
  const auto groups = static_cast<std::size_t>(rule.groups);
  const std::size_t width = choice.size() / groups;
  std::vector<S> best(groups);
  for (std::size_t g = 0; g < groups; ++g)
    best[g] = two_largest(choice.data() + g * width, static_cast<int64_t>(width));
  for (std::size_t g = 0; g < groups; ++g) {
    int64_t before = 0;
    for (std::size_t other = 0; other < groups; ++other)
      before += best[other] > best[g] || (best[other] == best[g] && other < g);
    if (before < rule.kept_groups) continue;
    std::fill_n(choice.begin() + static_cast<std::ptrdiff_t>(g * width), width,
                -std::numeric_limits<S>::infinity());
  }
}

// Returns the numbers by which experts are compared: the scores themselves, or a
// changed copy in `changed`.
template <class S>
const S* choice_of(const S* scores, int64_t experts, const S* bias, const RouterRule& rule,
                   std::vector<S>& changed) {
  if (bias == nullptr && !rule.limits_groups()) return scores;
  changed.assign(scores, scores + experts);
  for (std::size_t e = 0; bias != nullptr && e < changed.size(); ++e) changed[e] += bias[e];
  if (rule.limits_groups()) keep_best_groups(rule, changed);
  return changed.data();
}

template <class S>
void weigh(const RouterRule& rule, S* probs) {
  if (rule.renormalise) {
    const S norm = std::accumulate(probs, probs + rule.top_k, static_cast<S>(renormalise_floor));
    for (int64_t j = 0; j < rule.top_k; ++j) probs[j] /= norm;
  }
  if (rule.scale == 1) return;
  for (int64_t j = 0; j < rule.top_k; ++j) probs[j] *= static_cast<S>(rule.scale);
}

// With scores s, selected values v_j = s[e_j], sum n, factor c and p_j = c v_j / n (or c v_j):
//   dv_j = c (dp_j - sum_i dp_i v_i / n) / n,
//   dz = s * (ds - sum_e ds_e s_e) for a softmax, s * (1 - s) * ds for sigmoids.
template <class S>
void router_row_backward(const S* scores, const int64_t* chosen, const S* dprobs, int64_t experts,
                         const RouterRule& rule, S* dlogits) {
  const int64_t top_k = rule.top_k;
  S norm = 1, mean = 0;
  if (rule.renormalise) {
    norm = static_cast<S>(renormalise_floor);
    for (int64_t j = 0; j < top_k; ++j) norm += scores[chosen[j]];
    for (int64_t j = 0; j < top_k; ++j) mean += dprobs[j] * scores[chosen[j]] / norm;
  }
  const S scale = static_cast<S>(rule.scale);
  const auto share = [&](int64_t j) { return (dprobs[j] - mean) / norm * scores[chosen[j]] * scale; };
  S dot = 0;
  for (int64_t j = 0; j < top_k; ++j) dot += share(j);
  for (int64_t e = 0; e < experts; ++e) dlogits[e] = rule.sigmoid ? S(0) : -scores[e] * dot;
  for (int64_t j = 0; j < top_k; ++j)
    dlogits[chosen[j]] += share(j) * (rule.sigmoid ? S(1) - scores[chosen[j]] : S(1));
}

Routing moe_router(const at::Tensor& logits, const at::Tensor& bias, const RouterRule& rule) {
  const int64_t tokens = logits.size(0), width = logits.size(1), top_k = rule.top_k;
  const auto options = logits.options().requires_grad(false).dtype(sum_dtype(logits.scalar_type()));
  const at::Tensor rows = logits.contiguous();
  Routing result{at::empty({tokens, width}, options), at::empty({tokens, top_k}, options),
                 at::empty({tokens, top_k}, options.dtype(at::kLong))};
  if (rule.sigmoid) at::sigmoid_out(result.scores, logits.detach().to(options.dtype()));
  dispatch(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const S* const added = bias.defined() ? data_of<S>(bias) : nullptr;
    for_rows(tokens, width, [&](int64_t begin, int64_t end) {
      std::vector<S> changed;
      for (int64_t t = begin; t < end; ++t) {
        S* const scores = data_of<S>(result.scores) + t * width;
        S* const probs = data_of<S>(result.probs) + t * top_k;
        if (!rule.sigmoid) loop_table<T>().softmax_row(width, data_of<T>(rows) + t * width, scores);
        select(scores, choice_of(scores, width, added, rule, changed), width, top_k, probs,
               data_of<int64_t>(result.experts) + t * top_k);
        weigh(rule, probs);
      }
    });
  });
  return result;
}

at::Tensor moe_router_backward(const at::Tensor& grad, const at::Tensor& scores, const at::Tensor& experts,
                               const RouterRule& rule) {
  const at::Tensor dprobs = grad.contiguous();
  const int64_t width = scores.size(1), top_k = experts.size(1);
  at::Tensor dlogits = at::empty_like(scores);
  dispatch(scores.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    for_rows(scores.size(0), width, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        router_row_backward<S>(data_of<S>(scores) + t * width, data_of<int64_t>(experts) + t * top_k,
                               data_of<S>(dprobs) + t * top_k, width, rule, data_of<S>(dlogits) + t * width);
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
