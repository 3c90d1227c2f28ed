#include "kernels/activation.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// The two entries of the op table for one activation.
struct Silu {
  static constexpr const char* name = "d9d::silu_mul";
  static constexpr auto forward = &OpTable::silu_mul;
  static constexpr auto backward = &OpTable::silu_mul_backward;
};
struct Gelu {
  static constexpr const char* name = "d9d::gelu_mul";
  static constexpr auto forward = &OpTable::gelu_mul;
  static constexpr auto backward = &OpTable::gelu_mul_backward;
};
struct GeluErf {
  static constexpr const char* name = "d9d::gelu_erf_mul";
  static constexpr auto forward = &OpTable::gelu_erf_mul;
  static constexpr auto backward = &OpTable::gelu_erf_mul_backward;
};

template <class Activation>
class GatedMulNode : public BackwardNode {
 public:
  std::string name() const override { return Activation::name; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const auto [dgate, dup] = run_op(Activation::backward, grads[0], saved(0), saved(1));
    return {dgate, dup};
  }
};

template <class Activation>
at::Tensor gated_mul(const at::Tensor& gate, const at::Tensor& up) {
  TORCH_CHECK(gate.sizes() == up.sizes() && gate.scalar_type() == up.scalar_type(), Activation::name,
              " of gate ", gate.sizes(), " ", gate.scalar_type(), " and up ", up.sizes(), " ",
              up.scalar_type(), ": they must be alike");
  const auto node = node_for<GatedMulNode<Activation>>({gate, up});
  at::Tensor result;
  {
    BelowAutograd below;
    result = run_op(Activation::forward, gate, up);
  }
  if (node) {
    node->save({gate, up});
    torch::autograd::set_history(result, node);
  }
  return result;
}

struct Clamp {
  double alpha = 0, limit = 0;
};

// What both passes compute of gate_up, in sum_dtype.
struct ClampedPairs {
  at::Tensor raw_gate, raw_up;
  at::Tensor gate, up;  // clamped
  at::Tensor share;     // sigmoid(alpha gate)
};
ClampedPairs clamped(const at::Tensor& gate_up, const Clamp& clamp) {
  const at::Tensor pairs = gate_up.to(sum_dtype(gate_up.scalar_type())).unflatten(-1, {-1, 2});
  ClampedPairs of{pairs.select(-1, 0), pairs.select(-1, 1), {}, {}, {}};
  of.gate = of.raw_gate.clamp_max(clamp.limit);
  of.up = of.raw_up.clamp(-clamp.limit, clamp.limit);
  of.share = at::sigmoid(of.gate * clamp.alpha);
  return of;
}

// Saved: gate_up.
class ClampedSwiGluNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::clamped_swiglu"; }
  Clamp clamp;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    const at::Tensor gate_up = saved(0);
    const ClampedPairs of = clamped(gate_up, clamp);
    const at::Tensor dy = grads[0].to(of.gate.scalar_type());
    const at::Tensor slope = of.share * (of.gate * (1 - of.share) * clamp.alpha + 1);
    const at::Tensor dgate = dy * (of.up + 1) * slope * of.raw_gate.le(clamp.limit);
    const at::Tensor dup = dy * of.gate * of.share * of.raw_up.abs().le(clamp.limit);
    return {at::stack({dgate, dup}, -1).flatten(-2).to(gate_up.scalar_type())};
  }
};

}  // namespace

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
  return gated_mul<Silu>(gate, up);
}

at::Tensor gelu_mul(const at::Tensor& gate, const at::Tensor& up) {
  return gated_mul<Gelu>(gate, up);
}

at::Tensor gelu_erf_mul(const at::Tensor& gate, const at::Tensor& up) {
  return gated_mul<GeluErf>(gate, up);
}

at::Tensor clamped_swiglu(const at::Tensor& gate_up, double alpha, double limit) {
  TORCH_CHECK(gate_up.size(-1) % 2 == 0, "clamped_swiglu of ", gate_up.sizes(),
              ": expected gate and up in turns, an even number of columns");
  const Clamp clamp{alpha, limit};
  const auto node = node_for<ClampedSwiGluNode>({gate_up});
  at::Tensor result;
  {
    BelowAutograd below;
    const ClampedPairs of = clamped(gate_up, clamp);
    result = ((of.up + 1) * of.gate * of.share).to(gate_up.scalar_type());
  }
  if (node) {
    node->clamp = clamp;
    node->save({gate_up});
    torch::autograd::set_history(result, node);
  }
  return result;
}

}  // namespace d9d::kernels
