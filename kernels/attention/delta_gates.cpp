#include "kernels/attention/delta_gates.hpp"

#include <ATen/ops/zeros_like.h>

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: gates, log_rate, bias (both may be undefined). Saved: those that are defined, then beta.
class GatesNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::delta_gates"; }
  double normalizer = 1;
  bool has_rates = false;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined() && !grads[1].defined()) return Gradients(3);
    const at::Tensor gates = saved(0), log_rate = has_rates ? saved(1) : at::Tensor(),
                     bias = has_rates ? saved(2) : at::Tensor(), beta = saved(has_rates ? 3 : 1);
    for (at::Tensor& grad : grads)
      if (!grad.defined()) grad = at::zeros_like(beta);
    const DeltaGateGradients back =
        run_op(&OpTable::delta_gates_backward, grads[0], grads[1], gates, beta, log_rate, bias, normalizer);
    if (!has_rates) return {back.dgates, {}, {}};
    return {back.dgates, weight_gradient(1, log_rate, back.dlog_rate), weight_gradient(2, bias, back.dbias)};
  }
};

DeltaGates made(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias,
                double normalizer) {
  TORCH_CHECK(gates.dim() >= 2 && gates.size(-1) % 2 == 0, "delta_gates of ", gates.sizes(),
              ": expected [.., Hk, 2 g]");
  const auto node = node_for<GatesNode>({gates, log_rate, bias});
  DeltaGates result;
  {
    BelowAutograd below;
    result = run_op(&OpTable::delta_gates, gates, log_rate, bias, normalizer);
  }
  if (node) {
    node->normalizer = normalizer;
    node->has_rates = log_rate.defined();
    torch::autograd::set_history(result.decay, node);
    torch::autograd::set_history(result.beta, node);
    node->has_rates ? node->save({gates, log_rate, bias}) : node->save({gates});
    node->save_output(result.beta);
  }
  return result;
}

}  // namespace

DeltaGates delta_gates(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias) {
  TORCH_CHECK(gates.dim() >= 2 && log_rate.dim() == 1 &&
                  2 * log_rate.size(0) == gates.size(-2) * gates.size(-1) && bias.sizes() == log_rate.sizes(),
              "delta_gates of ", gates.sizes(), " with log_rate ", log_rate.sizes(), " and bias ",
              bias.sizes(), ": expected [.., Hk, 2 g] and [Hk g] twice");
  TORCH_CHECK(gates.scalar_type() == log_rate.scalar_type() && gates.scalar_type() == bias.scalar_type(),
              "delta_gates of ", gates.scalar_type(), " with parameters of ", log_rate.scalar_type(), " and ",
              bias.scalar_type(), "; cast some of them");
  return made(gates, log_rate, bias, 1);
}

DeltaGates logsigmoid_gates(const at::Tensor& gates, double normalizer) {
  TORCH_CHECK(normalizer > 0, "logsigmoid_gates by ", normalizer, ": expected a normalizer above 0");
  return made(gates, {}, {}, normalizer);
}

}  // namespace d9d::kernels
