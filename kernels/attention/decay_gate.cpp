#include "kernels/attention/decay_gate.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/zeros.h>

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs and saved: a, log_rate, bias.
class DecayNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::decay_gate"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(3);
    const at::Tensor log_rate = saved(1), bias = saved(2);
    const DecayGradients back = run_op(&OpTable::decay_gate_backward, grads[0], saved(0), log_rate, bias);
    return {back.da, weight_gradient(1, log_rate, back.dlog_rate), weight_gradient(2, bias, back.dbias)};
  }
};

}  // namespace

at::Tensor decay_gate(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias) {
  TORCH_CHECK(a.dim() >= 1 && log_rate.dim() == 1 && log_rate.size(0) == a.size(-1) &&
                  bias.sizes() == log_rate.sizes(),
              "decay_gate of a ", a.sizes(), " with log_rate ", log_rate.sizes(), " and bias ", bias.sizes(),
              ": expected [.., H] and [H] twice");
  TORCH_CHECK(a.scalar_type() == log_rate.scalar_type() && a.scalar_type() == bias.scalar_type(),
              "decay_gate of ", a.scalar_type(), " with parameters of ", log_rate.scalar_type(), " and ",
              bias.scalar_type(), "; cast some of them");
  const auto node = node_for<DecayNode>({a, log_rate, bias});
  at::Tensor decay;
  {
    BelowAutograd below;
    decay = run_op(&OpTable::decay_gate, a, log_rate, bias);
  }
  if (node) {
    node->save({a, log_rate, bias});
    torch::autograd::set_history(decay, node);
  }
  return decay;
}

// logsigmoid(a) = -softplus(-a), so every device that has the op above has this one.
at::Tensor logsigmoid_gate(const at::Tensor& a, double normalizer) {
  TORCH_CHECK(a.dim() >= 1 && normalizer > 0, "logsigmoid_gate of a ", a.sizes(), " by ", normalizer,
              ": expected [.., H] and a normalizer above 0");
  const at::Tensor none = at::zeros({a.size(-1)}, a.options().requires_grad(false));
  return at::div(decay_gate(at::neg(a), none, none), normalizer);
}

}  // namespace d9d::kernels
