#include "kernels/activation.hpp"

#include <ATen/ops/empty.h>

#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

class SiluMulNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::silu_mul"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const at::Tensor gate = saved(0), up = saved(1);
    const at::Tensor d = as_rows(grads[0]), g = as_rows(gate), u = as_rows(up);
    const int64_t width = g.size(1);
    const auto options = gate.options().requires_grad(false);
    at::Tensor dgate = at::empty(gate.sizes(), options), dup = at::empty(gate.sizes(), options);
    const at::Tensor dg = dgate.view({-1, width}), du = dup.view({-1, width});
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(g.size(0), width, [&](int64_t begin, int64_t end) {
        kernel_table<T>().silu_mul_backward(end - begin, width, rows_of<T>(d, begin), rows_of<T>(g, begin),
                                            rows_of<T>(u, begin), mutable_rows_of<T>(dg, begin),
                                            mutable_rows_of<T>(du, begin));
      });
    });
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
    const at::Tensor g = as_rows(gate), u = as_rows(up);
    const int64_t width = g.size(1);
    result = at::empty(gate.sizes(), gate.options().requires_grad(false));
    const at::Tensor out = result.view({-1, width});
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(g.size(0), width, [&](int64_t begin, int64_t end) {
        kernel_table<T>().silu_mul(end - begin, width, rows_of<T>(g, begin), rows_of<T>(u, begin),
                                   mutable_rows_of<T>(out, begin));
      });
    });
  }
  if (node) {
    node->save({gate, up});
    torch::autograd::set_history(result, node);
  }
  return result;
}

}  // namespace d9d::kernels
