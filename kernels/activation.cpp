#include "kernels/activation.hpp"

#include "kernels/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

class SiluMulNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::silu_mul"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const auto [dgate, dup] = run_op(&OpTable::silu_mul_backward, grads[0], saved(0), saved(1));
    return {dgate, dup};
  }
};

}  // namespace

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
  TORCH_CHECK(gate.sizes() == up.sizes() && gate.scalar_type() == up.scalar_type(), "silu_mul of gate ",
              gate.sizes(), " ", gate.scalar_type(), " and up ", up.sizes(), " ", up.scalar_type(),
              ": they must be alike");
  const auto node = node_for<SiluMulNode>({gate, up});
  at::Tensor result;
  {
    BelowAutograd below;
    result = run_op(&OpTable::silu_mul, gate, up);
  }
  if (node) {
    node->save({gate, up});
    torch::autograd::set_history(result, node);
  }
  return result;
}

}  // namespace d9d::kernels
