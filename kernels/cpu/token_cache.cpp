#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/loops/cache_table.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// Returns rows [T, H, D] with the heads of a token side by side: itself, or a copy.
at::Tensor with_dense_heads(const at::Tensor& rows) {
  const bool dense = rows.stride(2) == 1 && rows.stride(1) == rows.size(2);
  return dense || rows.size(0) == 0 ? rows : rows.contiguous();
}

// What a new token sees: tokens first .. end of its sequence.
struct Sight {
  int64_t sequence, first, end;
};
std::vector<Sight> sights_of(const CacheStretches& stretches, int64_t window) {
  std::vector<Sight> sights;
  for (const CacheStretch& stretch : stretches) {
    for (int64_t i = 0; i < stretch.count; ++i) {
      const int64_t end = stretch.past + i + 1;
      sights.push_back({stretch.sequence, window > 0 ? std::max<int64_t>(0, end - window) : 0, end});
    }
  }
  return sights;
}

void write_cache(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches) {
  const at::Tensor dense = with_dense_heads(rows);
  const int64_t heads = cache.size(1), room = cache.size(2);
  const auto size = static_cast<std::size_t>(cache.element_size());
  const std::size_t bytes = static_cast<std::size_t>(cache.size(3)) * size;
  const auto* from = static_cast<const char*>(dense.const_data_ptr());
  auto* const into = static_cast<char*>(cache.data_ptr());
  const std::size_t token_bytes = static_cast<std::size_t>(dense.stride(0)) * size;
  for (const Sight& token : sights_of(stretches, 0)) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t row = (token.sequence * heads + head) * room + token.end - 1;
      std::memcpy(into + static_cast<std::size_t>(row) * bytes, from + static_cast<std::size_t>(head) * bytes,
                  bytes);
    }
    from += token_bytes;
  }
}

struct CachedHeads {
  int64_t key_heads, group, room, dim, value_dim;
};

// Attention of one token, for the query heads of key head `head`: softmax of the scores, then the
// mean of the values.
template <class T>
void attend_group(const CachedHeads& shape, const Sight& sight, int64_t head, double scale, const T* q,
                  const T* keys, const T* values, T* out) {
  using S = Sum<T>;
  thread_local std::vector<S> memory;
  const int64_t count = sight.end - sight.first;
  memory.resize(static_cast<std::size_t>(shape.dim + count));
  S *const query = memory.data(), *const scores = query + shape.dim;
  const int64_t row = (sight.sequence * shape.key_heads + head) * shape.room + sight.first;
  const auto& cached = cache_loops<T>();
  const auto& loops = loop_table<T>();
  for (int64_t g = 0; g < shape.group; ++g) {
    const int64_t query_head = head * shape.group + g;
    cached.widen(shape.dim, static_cast<S>(scale), q + query_head * shape.dim, query);
    cached.key_scores(count, shape.dim, keys + row * shape.dim, query, scores);
    S largest = 0;
    const S total = loops.exponential_sum(count, scores, &largest);
    loops.exponentials(count, scores, largest);
    cached.weigh_rows(count, shape.value_dim, values + row * shape.value_dim, scores, S(1) / total,
                      out + query_head * shape.value_dim);
  }
}

at::Tensor cached_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                            const CacheStretches& stretches, int64_t window, double scale) {
  const at::Tensor q = with_dense_heads(queries);
  const CachedHeads shape{keys.size(1), q.size(1) / keys.size(1), keys.size(2), keys.size(3), values.size(3)};
  at::Tensor out = at::zeros({q.size(0), q.size(1), shape.value_dim}, q.options().requires_grad(false));
  const std::vector<Sight> sights = sights_of(stretches, window);
  int64_t seen = 1;
  for (const Sight& sight : sights) seen = std::max(seen, sight.end - sight.first);
  // A thread gets at least some 10^4 multiplications.
  const int64_t task = seen * shape.group * (shape.dim + shape.value_dim);
  const int64_t tasks = static_cast<int64_t>(sights.size()) * shape.key_heads;
  dispatch(q.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    at::parallel_for(0, tasks, std::max<int64_t>(1, 65536 / task), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t token = i / shape.key_heads;
        attend_group<T>(shape, sights[static_cast<std::size_t>(token)], i % shape.key_heads, scale,
                        data_of<T>(q) + token * q.stride(0), data_of<T>(keys), data_of<T>(values),
                        data_of<T>(out) + token * out.stride(0));
      }
    });
  });
  return out;
}

// The data of one value head: its rows of q, k [T, Hk, Dk], v, out [T, Hv, Dv], decay, beta [T, Hv].
template <class S>
struct DeltaHeadRows {
  const S *q, *k, *v, *decay, *beta;
  S *state, *out;
  int64_t key_row, value_row, heads;  // distance from token to token in these three kinds of tensors
};

template <class S>
void normed(const DeltaRuleOptions& options, int64_t dim, double scale, const S* from, S* to) {
  const auto& loops = loop_table<S>();
  const S inverse = options.normalise
                        ? S(1) / std::sqrt(loops.dot(dim, from, from) + static_cast<S>(delta_norm_eps))
                        : S(1);
  loops.scale_row(dim, static_cast<S>(scale) * inverse, from, to);
}

template <class S>
void run_steps(DeltaHeadRows<S> at, int64_t count, int64_t dk, int64_t dv, const DeltaRuleOptions& options) {
  thread_local std::vector<S> memory;
  memory.resize(static_cast<std::size_t>(2 * dk + dv));
  S *const q = memory.data(), *const k = q + dk, *const change = k + dk;
  for (int64_t token = 0; token < count; ++token) {
    normed(options, dk, options.scale, at.q, q);
    normed(options, dk, 1.0, at.k, k);
    delta_step_loops<S>().step({dk, dv, std::exp(*at.decay), *at.beta, q, k, at.v}, at.state, change, at.out);
    at.q += at.key_row;
    at.k += at.key_row;
    at.v += at.value_row;
    at.out += at.value_row;
    at.decay += at.heads;
    at.beta += at.heads;
  }
}

template <class S>
void run_stretches(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                   const at::Tensor& beta, const at::Tensor& state, const CacheStretches& stretches,
                   const DeltaRuleOptions& options, const at::Tensor& out) {
  const int64_t heads = v.size(1), dk = q.size(2), dv = v.size(2), group = heads / q.size(1);
  std::vector<int64_t> first{0};
  for (const CacheStretch& stretch : stretches) first.push_back(first.back() + stretch.count);
  at::parallel_for(0, static_cast<int64_t>(stretches.size()) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const auto index = static_cast<std::size_t>(task / heads);
      const int64_t head = task % heads, token = first[index];
      const int64_t key = token * q.stride(0) + head / group * dk;
      const int64_t value = token * v.stride(0) + head * dv, gate = token * heads + head;
      run_steps<S>(
          {data_of<S>(q) + key, data_of<S>(k) + key, data_of<S>(v) + value, data_of<S>(decay) + gate,
           data_of<S>(beta) + gate, data_of<S>(state) + (stretches[index].sequence * heads + head) * dk * dv,
           data_of<S>(out) + value, q.stride(0), v.stride(0), heads},
          stretches[index].count, dk, dv, options);
    }
  });
}

at::Tensor delta_rule_steps(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta, const at::Tensor& state,
                            const CacheStretches& stretches, const DeltaRuleOptions& options) {
  const auto sums = state.scalar_type();
  const auto wide = [sums](const at::Tensor& x) { return x.to(sums).contiguous(); };
  const at::Tensor out = at::zeros(v.sizes(), state.options());
  const auto run = sums == at::kDouble ? run_stretches<double> : run_stretches<float>;
  run(wide(q), wide(k), wide(v), wide(decay), wide(beta), state, stretches, options, out);
  return out.to(v.scalar_type());
}

}  // namespace

void add_token_cache(OpTable& table) {
  table.write_cache = write_cache;
  table.cached_attention = cached_attention;
  table.delta_rule_steps = delta_rule_steps;
}

}  // namespace d9d::kernels::cpu
