#include "kernels/attention/sinks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/logaddexp.h>

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

// Inputs and saved: sinks.
class SinkNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::sink_logits"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(1);
    return {weight_gradient(0, saved(0), grads[0])};
  }
};

// [B, Hq, S] -> as factors of out [B, S, Hq, Dv]
at::Tensor of_heads(const at::Tensor& by_head) {
  return by_head.transpose(1, 2).unsqueeze(3);
}

}  // namespace

at::Tensor sink_logits(const at::Tensor& sinks) {
  TORCH_CHECK(sinks.dim() == 1, "sinks ", sinks.sizes(), ": expected one for each query head, [H]");
  const auto node = node_for<SinkNode>({sinks});
  at::Tensor logits;
  {
    BelowAutograd below;
    logits = sinks.to(sum_dtype(sinks.scalar_type()), /*non_blocking=*/false, /*copy=*/true);
  }
  if (node) {
    node->save({sinks});
    torch::autograd::set_history(logits, node);
  }
  return logits;
}

void add_sinks(const AttentionBlock& block, const at::Tensor& logits) {
  TORCH_CHECK(logits.dim() == 1 && logits.size(0) == block.out.size(2) &&
                  logits.scalar_type() == block.lse.scalar_type() &&
                  block.out.scalar_type() == block.lse.scalar_type(),
              "sinks ", logits.sizes(), " of attention ", block.out.sizes(),
              ": expected one for each of its ", block.out.size(2), " heads, in ", block.lse.scalar_type());
  // Contiguous, so that the same elements go through vector code on every device.
  const at::Tensor keys = block.lse.clone(at::MemoryFormat::Contiguous);
  const at::Tensor all = at::logaddexp(keys, logits.unsqueeze(1));
  block.lse.copy_(all);
  block.out.mul_(of_heads((keys - all).exp_()));
}

at::Tensor sink_gradient(const at::Tensor& grad, const AttentionBlock& forward, const at::Tensor& logits) {
  const at::Tensor share = (logits.unsqueeze(1) - forward.lse).exp_();
  const auto wide = share.scalar_type();
  const at::Tensor delta = (grad.to(wide) * forward.out.to(wide)).sum(3);
  return (delta * share.transpose(1, 2)).sum(at::IntArrayRef({0, 1})).neg_();
}

}  // namespace d9d::kernels
