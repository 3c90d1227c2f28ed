#include "kernels/attention_block.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

void check_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 &&
                  k.sizes().slice(0, 3) == v.sizes().slice(0, 3) && q.size(0) == k.size(0) &&
                  (!causal || q.size(1) == k.size(1)) && q.size(3) == k.size(3) && q.size(2) % k.size(2) == 0,
              "attention of q ", q.sizes(), ", k ", k.sizes(), ", v ", v.sizes(),
              ": expected [B, S, Hq, D], [B, S, Hkv, D] and [B, S, Hkv, Dv] with Hq divisible by Hkv");
}

}  // namespace

AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                               double scale, at::ScalarType dtype) {
  check_block(q, k, v, causal);
  return run_op(&OpTable::attention_block, q, k, v, causal, scale, dtype);
}

AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, bool causal, double scale,
                                                 at::ScalarType dtype) {
  check_block(q, k, v, causal);
  return run_op(&OpTable::attention_block_backward, grad, q, k, v, forward, causal, scale, dtype);
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
