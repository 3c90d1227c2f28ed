#include "kernels/cuda/attention/token_cache.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::CacheStretches;

// f(tokens) for as many stretches at a time as a launch takes.
template <class F>
void for_launches(const CacheStretches& stretches, F&& f) {
  std::int64_t first = 0;
  CacheTokens tokens;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto& [sequence, past, count] = stretches[i];
    tokens.stretches[tokens.count++] = {sequence, past, first, count};
    tokens.tokens += count;
    first += count;
    if (tokens.count < CacheTokens::stretches_max && i + 1 < stretches.size()) continue;
    f(tokens);
    tokens = {};
  }
}

int64_t tokens_of(const CacheStretches& stretches) {
  int64_t tokens = 0;
  for (const kernels::CacheStretch& stretch : stretches) tokens += stretch.count;
  return tokens;
}

// Heads of a token side by side.
at::Tensor with_dense_heads(const at::Tensor& rows) {
  const bool dense = rows.stride(2) == 1 && rows.stride(1) == rows.size(2);
  return dense ? rows : rows.contiguous();
}

// Rows of the tokens of no stretch are zero.
at::Tensor room_for_results(at::IntArrayRef sizes, const at::Tensor& like, const CacheStretches& stretches) {
  at::Tensor out = at::empty(sizes, like.options().requires_grad(false));
  const int64_t tokens = tokens_of(stretches);
  if (tokens < sizes[0]) out.narrow(0, tokens, sizes[0] - tokens).zero_();
  return out;
}

void write(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches) {
  const c10::DeviceGuard guard(cache.device());
  const at::Tensor dense = with_dense_heads(rows);
  for_launches(stretches, [&](const CacheTokens& tokens) {
    check_launch(write_cache({.type = type_of(cache),
                              .tokens = tokens,
                              .heads = cache.size(1),
                              .room = cache.size(2),
                              .dim = cache.size(3),
                              .rows = {dense.const_data_ptr(), dense.stride(0)},
                              .cache = data_of(cache)},
                             stream_of(cache)),
                 "write_cache");
  });
}

at::Tensor attend(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const CacheStretches& stretches, int64_t window, double scale) {
  const c10::DeviceGuard guard(queries.device());
  const at::Tensor q = with_dense_heads(queries);
  const at::Tensor out = room_for_results({q.size(0), q.size(1), values.size(3)}, q, stretches);
  for_launches(stretches, [&](const CacheTokens& tokens) {
    const int64_t slabs = cache_slabs(tokens, window);
    at::Tensor partial;
    if (slabs > 1)
      partial = at::empty({tokens.tokens, q.size(1), slabs, values.size(3) + 2},
                          q.options().requires_grad(false).dtype(at::kFloat));
    check_launch(cached_attention({.type = type_of(q),
                                   .tokens = tokens,
                                   .query_heads = q.size(1),
                                   .key_heads = keys.size(1),
                                   .room = keys.size(2),
                                   .dim = keys.size(3),
                                   .value_dim = values.size(3),
                                   .window = window,
                                   .scale = static_cast<float>(scale),
                                   .q = {q.const_data_ptr(), q.stride(0)},
                                   .keys = keys.const_data_ptr(),
                                   .values = values.const_data_ptr(),
                                   .out = data_of(out),
                                   .slabs = slabs,
                                   .partial = data_of<float>(partial)},
                                  stream_of(q)),
                 "cached_attention");
  });
  return out;
}

at::Tensor advance(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                   const at::Tensor& beta, const at::Tensor& state, const CacheStretches& stretches,
                   const kernels::DeltaRuleOptions& options) {
  const c10::DeviceGuard guard(v.device());
  TORCH_CHECK(q.size(2) <= delta_key_dim_max, "delta_rule_steps with keys of ", q.size(2),
              " elements: the CUDA kernels of d9d take up to ", delta_key_dim_max);
  const at::Tensor dense_q = q.contiguous(), dense_k = k.contiguous(), dense_v = v.contiguous(),
                   dense_decay = decay.contiguous(), dense_beta = beta.contiguous();
  const at::Tensor out = room_for_results(v.sizes(), v, stretches);
  for_launches(stretches, [&](const CacheTokens& tokens) {
    check_launch(delta_rule_steps({.type = type_of(v),
                                   .tokens = tokens,
                                   .key_heads = q.size(1),
                                   .value_heads = v.size(1),
                                   .dk = q.size(2),
                                   .dv = v.size(2),
                                   .normalise = options.normalise,
                                   .scale = static_cast<float>(options.scale),
                                   .eps = static_cast<float>(kernels::delta_norm_eps),
                                   .q = dense_q.const_data_ptr(),
                                   .k = dense_k.const_data_ptr(),
                                   .v = dense_v.const_data_ptr(),
                                   .decay = dense_decay.const_data_ptr<float>(),
                                   .beta = dense_beta.const_data_ptr<float>(),
                                   .state = data_of<float>(state),
                                   .out = data_of(out)},
                                  stream_of(v)),
                 "delta_rule_steps");
  });
  return out;
}

}  // namespace

void add_token_cache(kernels::OpTable& table) {
  table.write_cache = write;
  table.cached_attention = attend;
  table.delta_rule_steps = advance;
}

}  // namespace d9d::cuda
