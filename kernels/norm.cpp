#include "kernels/norm.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: x, residual (may be undefined), weight. Saved: what was normed, inverse, weight.
class NormNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::rms_norm"; }
  double offset = 0;

 protected:
  Gradients backward(Gradients grads) override {
    const at::Tensor x = saved(0), inverse = saved(1), weight = saved(2);
    const at::Tensor& dy = grads[0];
    const at::Tensor dsum = grads.size() > 1 ? grads[1] : at::Tensor();
    if (!dy.defined()) return {dsum, dsum, {}};
    Gradients result(3);
    const NormGradients back =
        run_op(&OpTable::rms_norm_backward, dy, x, weight, offset, inverse, dsum, wants(2));
    result[0] = result[1] = back.dx;
    result[2] = weight_gradient(2, weight, [dw = back.dweight](const at::Tensor& into, double beta) {
      beta == 0 ? into.copy_(dw) : into.add_(dw);
    });
    return result;
  }
};

void check(const at::Tensor& x, const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 1 && x.dim() >= 1 && x.size(-1) == weight.size(0), "rms_norm of x ", x.sizes(),
              " with weight ", weight.sizes(), ": expected one weight per element of the last dimension");
  TORCH_CHECK(weight.scalar_type() == x.scalar_type(), "rms_norm of ", x.scalar_type(), " with a weight of ",
              weight.scalar_type(), "; cast one of them");
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool zero_centered) {
  check(x, weight);
  const auto node = node_for<NormNode>({x, at::Tensor(), weight});
  const double offset = zero_centered ? 1 : 0;
  Normed result;
  {
    BelowAutograd below;
    result = run_op(&OpTable::rms_norm, x, at::Tensor(), weight, eps, offset);
  }
  if (node) {
    node->offset = offset;
    node->save({x, result.inverse, weight});
    torch::autograd::set_history(result.normed, node);
  }
  return result.normed;
}

std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& residual,
                                                const at::Tensor& weight, double eps, bool zero_centered) {
  check(x, weight);
  const bool adds = residual.defined();
  TORCH_CHECK(!adds || (x.sizes() == residual.sizes() && x.scalar_type() == residual.scalar_type()),
              "add_rms_norm of x ", x.sizes(), " ", x.scalar_type(), " and residual ", residual.sizes(), " ",
              residual.scalar_type(), ": they must be alike");
  const auto node = node_for<NormNode>({x, residual, weight});
  const double offset = zero_centered ? 1 : 0;
  Normed result;
  {
    BelowAutograd below;
    result = run_op(&OpTable::rms_norm, x, residual, weight, eps, offset);
  }
  if (!adds) result.sum = node ? x.variable_data() : x;
  if (node) {
    node->offset = offset;
    torch::autograd::set_history(result.normed, node);
    torch::autograd::set_history(result.sum, node);
    adds ? node->save_output(result.sum) : node->save({x});
    node->save({result.inverse, weight});
  }
  return {result.normed, result.sum};
}

}  // namespace d9d::kernels
