#include "kernels/attention/token_cache.hpp"

#include <limits>

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

void check_stretches(const char* op, const CacheStretches& stretches, int64_t tokens, int64_t sequences,
                     int64_t room) {
  int64_t total = 0;
  for (const CacheStretch& stretch : stretches) {
    TORCH_CHECK(stretch.sequence >= 0 && stretch.sequence < sequences && stretch.past >= 0 &&
                    stretch.count > 0 && stretch.past + stretch.count <= room,
                op, " of ", stretch.count, " tokens after ", stretch.past, " of sequence ", stretch.sequence,
                " in a cache of ", sequences, " sequences with room for ", room, " tokens each");
    total += stretch.count;
  }
  TORCH_CHECK(total <= tokens, op, " of ", total, " tokens in stretches, ", tokens, " in tensors");
}

constexpr int64_t any_length = std::numeric_limits<int64_t>::max();

}  // namespace

void write_cache(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches) {
  TORCH_CHECK(rows.dim() == 3 && cache.dim() == 4 && cache.is_contiguous() && rows.size(1) == cache.size(1) &&
                  rows.size(2) == cache.size(3) && rows.scalar_type() == cache.scalar_type(),
              "write_cache of ", rows.sizes(), " ", rows.scalar_type(), " into ", cache.sizes(), " ",
              cache.scalar_type(), ": expected [T, H, D] and a contiguous [N, H, C, D] of one dtype");
  check_stretches("write_cache", stretches, rows.size(0), cache.size(0), cache.size(2));
  BelowAutograd below;
  run_op(&OpTable::write_cache, rows, cache, stretches);
}

at::Tensor cached_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                            const CacheStretches& stretches, int64_t window, double scale) {
  TORCH_CHECK(q.dim() == 3 && keys.dim() == 4 && values.dim() == 4 && keys.is_contiguous() &&
                  values.is_contiguous() && q.size(2) == keys.size(3) && q.size(1) % keys.size(1) == 0 &&
                  keys.sizes().slice(0, 3) == values.sizes().slice(0, 3) && window >= 0 &&
                  q.scalar_type() == keys.scalar_type() && q.scalar_type() == values.scalar_type(),
              "cached_attention of q ", q.sizes(), ", keys ", keys.sizes(), " and values ", values.sizes(),
              ": expected [T, Hq, D], [N, Hkv, C, D] and [N, Hkv, C, Dv] of one dtype, Hq a multiple of Hkv");
  check_stretches("cached_attention", stretches, q.size(0), keys.size(0), keys.size(2));
  BelowAutograd below;
  return run_op(&OpTable::cached_attention, q, keys, values, stretches, window, scale);
}

at::Tensor delta_rule_steps(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta, const at::Tensor& state,
                            const CacheStretches& stretches, const DeltaRuleOptions& options) {
  TORCH_CHECK(q.dim() == 3 && q.sizes() == k.sizes() && v.dim() == 3 && v.size(0) == q.size(0) &&
                  v.size(1) % q.size(1) == 0 && decay.sizes() == v.sizes().slice(0, 2) &&
                  beta.sizes() == decay.sizes(),
              "delta_rule_steps of q ", q.sizes(), ", k ", k.sizes(), ", v ", v.sizes(), ", decay ",
              decay.sizes(), " and beta ", beta.sizes(),
              ": expected [T, Hk, Dk] twice, [T, Hv, Dv] and [T, Hv] twice, Hv a multiple of Hk");
  const auto sums = sum_dtype(v.scalar_type());
  TORCH_CHECK(state.dim() == 4 && state.is_contiguous() && state.size(1) == v.size(1) &&
                  state.size(2) == q.size(2) && state.size(3) == v.size(2) && state.scalar_type() == sums &&
                  decay.scalar_type() == sums && beta.scalar_type() == sums,
              "delta_rule_steps with a state ", state.sizes(), " ", state.scalar_type(),
              ": expected a contiguous [N, Hv, Dk, Dv], it, decay and beta ", sums);
  check_stretches("delta_rule_steps", stretches, q.size(0), state.size(0), any_length);
  BelowAutograd below;
  return run_op(&OpTable::delta_rule_steps, q, k, v, decay, beta, state, stretches, options);
}

}  // namespace d9d::kernels
