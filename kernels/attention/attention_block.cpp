#include "kernels/attention/attention_block.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Checks only the first and the last query: if both see a key, so do all between them.
bool every_query_sees(const AttentionMask& mask, int64_t queries, int64_t keys) {
  const auto sees = [&](int64_t i) { return first_key(mask, i) < end_of_keys(mask, i, keys); };
  return mask.before >= 0 && mask.after >= 0 && sees(0) && sees(queries - 1);
}

void check_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                 const VisibleKeys& visible) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 &&
                  k.sizes().slice(0, 3) == v.sizes().slice(0, 3) && q.size(0) == k.size(0) &&
                  q.size(3) == k.size(3) && q.size(2) % k.size(2) == 0,
              "attention of q ", q.sizes(), ", k ", k.sizes(), ", v ", v.sizes(),
              ": expected [B, S, Hq, D], [B, S, Hkv, D] and [B, S, Hkv, Dv] with Hq divisible by Hkv");
  TORCH_CHECK(every_query_sees(mask, q.size(1), k.size(1)), "attention of ", q.size(1), " queries to ",
              k.size(1), " keys, ", mask.before, " before and ", mask.after, " after, from key ", mask.offset,
              " on: a query sees no key");
  for (const at::Tensor& limits : {visible.first, visible.end}) {
    TORCH_CHECK(
        !limits.defined() || (limits.sizes() == q.sizes().slice(0, 2) && limits.scalar_type() == at::kLong &&
                              limits.is_contiguous() && limits.device() == q.device()),
        "the first keys, or their ends, of the queries ", q.sizes(), " are ", limits.sizes(),
        ", expected int64 [B, S], contiguous, on their device");
  }
}

void check_bias(const at::Tensor& q, const at::Tensor& k, const ScoreBias& bias) {
  const at::Tensor& values = bias.values;
  const int64_t queries = q.size(1), keys = k.size(1);
  const auto is_one_or = [&](int64_t dim, int64_t size) {
    return values.size(dim) == 1 || values.size(dim) == size;
  };
  const bool fits = values.dim() == 4 && is_one_or(0, q.size(0)) && is_one_or(1, q.size(2)) &&
                    (bias.by_distance ? values.size(2) == 1 && values.size(3) == queries + keys - 1
                                      : is_one_or(2, queries) && values.size(3) == keys);
  TORCH_CHECK(fits, "a bias ", values.sizes(), bias.by_distance ? " by distance" : "", " of the scores of q ",
              q.sizes(), " and k ", k.sizes(), ": expected [B or 1, Hq or 1, ",
              bias.by_distance ? "1, Sq + Sk - 1]" : "Sq or 1, Sk]");
  TORCH_CHECK(
      (values.scalar_type() == at::kFloat || values.scalar_type() == q.scalar_type()) &&
          values.device() == q.device(),
      "a bias in ", values.scalar_type(), " on ", values.device(), " of the scores of q in ", q.scalar_type(),
      " on ", q.device(),
      ": expected float32 or the queries' dtype, on their device; a mask of booleans becomes a bias by "
      "kernels::bias_of_mask (attention/score_bias.hpp)");
}

}  // namespace

AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible, const ScoreBias& bias) {
  check_block(q, k, v, mask, visible);
  if (bias.any()) check_bias(q, k, bias);
  return run_op(&OpTable::attention_block, q, k, v, mask, scale, dtype, visible, bias);
}

AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, at::ScalarType dtype,
                                                 const VisibleKeys& visible, const ScoreBias& bias) {
  check_block(q, k, v, mask, visible);
  if (bias.any()) check_bias(q, k, bias);
  return run_op(&OpTable::attention_block_backward, grad, q, k, v, forward, mask, scale, dtype, visible,
                bias);
}

void merge_attention_block(const AttentionBlock& into, const AttentionBlock& block) {
  TORCH_CHECK(into.out.sizes() == block.out.sizes() && into.lse.sizes() == block.lse.sizes() &&
                  into.out.scalar_type() == into.lse.scalar_type() &&
                  block.out.scalar_type() == into.out.scalar_type() && into.out.stride(3) == 1 &&
                  block.out.stride(3) == 1,
              "a block of attention ", block.out.sizes(), " does not fit into ", into.out.sizes());
  run_op(&OpTable::merge_attention_block, into, block);
}

}  // namespace d9d::kernels
