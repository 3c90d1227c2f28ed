#include "kernels/activation.hpp"

#include "kernels/graph/node.hpp"
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

}  // namespace

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
  return gated_mul<Silu>(gate, up);
}

at::Tensor gelu_mul(const at::Tensor& gate, const at::Tensor& up) {
  return gated_mul<Gelu>(gate, up);
}

}  // namespace d9d::kernels
