#include "kernels/attention.hpp"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

// [B, S, Hkv, D] -> [B, Hq, S, D]
at::Tensor to_query_heads(const at::Tensor& x, int64_t query_heads) {
  const int64_t group = query_heads / x.size(2);
  if (group == 1) return x.transpose(1, 2);
  return x.unsqueeze(3)
      .expand({x.size(0), x.size(1), x.size(2), group, x.size(3)})
      .reshape({x.size(0), x.size(1), query_heads, x.size(3)})
      .transpose(1, 2);
}

// [B, Hq, S, D] -> [B, S, Hkv, D], summed over each group
at::Tensor to_key_heads(const at::Tensor& grad, int64_t key_heads) {
  const at::Tensor by_token = grad.transpose(1, 2);
  const int64_t group = by_token.size(2) / key_heads;
  if (group == 1) return by_token;
  return by_token.reshape({by_token.size(0), by_token.size(1), key_heads, group, by_token.size(3)}).sum(3);
}

// Saved: q, k, v, out, logsumexp.
class AttentionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::attention"; }
  bool causal = false;
  double scale = 1;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}, {}};
    const at::Tensor q = saved(0), k = saved(1), v = saved(2), lse = saved(3), out = saved(4);
    const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grads[0].transpose(1, 2), q.transpose(1, 2), to_query_heads(k, q.size(2)),
        to_query_heads(v, q.size(2)), out.transpose(1, 2), lse, 0.0, causal, {}, scale);
    return {dq.transpose(1, 2), to_key_heads(dk, k.size(2)), to_key_heads(dv, k.size(2))};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() && q.size(0) == k.size(0) &&
                  q.size(1) == k.size(1) && q.size(3) == k.size(3) && q.size(2) % k.size(2) == 0,
              "attention of q ", q.sizes(), ", k ", k.sizes(), ", v ", v.sizes(),
              ": expected [B, S, Hq, D] and twice [B, S, Hkv, D] with Hq divisible by Hkv");
  const auto node = node_for<AttentionNode>({q, k, v});
  at::Tensor out, lse;
  {
    BelowAutograd below;
    std::tie(out, lse) =
        at::_scaled_dot_product_flash_attention_for_cpu(q.transpose(1, 2), to_query_heads(k, q.size(2)),
                                                        to_query_heads(v, q.size(2)), 0.0, causal, {}, scale);
    out = out.transpose(1, 2);
  }
  if (node) {
    node->causal = causal;
    node->scale = scale;
    node->save({q, k, v, lse});
    torch::autograd::set_history(out, node);
    node->save_output(out);
  }
  return out;
}

}  // namespace d9d::kernels
