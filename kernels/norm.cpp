#include "kernels/norm.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

struct RmsRule {
  static constexpr const char* name = "rms_norm";
  static constexpr const char* node_name = "d9d::rms_norm";
  double eps = 0, offset = 0;

  Normed forward(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight) const {
    return run_op(&OpTable::rms_norm, x, residual, weight, eps, offset);
  }
  NormGradients backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& inverse, const at::Tensor& dsum, bool with_dweight) const {
    return run_op(&OpTable::rms_norm_backward, dy, x, weight, offset, inverse, dsum, with_dweight);
  }
};

struct LayerRule {
  static constexpr const char* name = "layer_norm";
  static constexpr const char* node_name = "d9d::layer_norm";
  double eps = 0;

  Normed forward(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight) const {
    return run_op(&OpTable::layer_norm, x, residual, weight, eps);
  }
  static NormGradients backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& inverse, const at::Tensor& dsum, bool with_dweight) {
    return run_op(&OpTable::layer_norm_backward, dy, x, weight, inverse, dsum, with_dweight);
  }
};

// Inputs: x, residual (may be undefined), weight. Saved: what was normed, inverse, weight.
template <class Rule>
class NormNode : public BackwardNode {
 public:
  std::string name() const override { return Rule::node_name; }
  Rule rule;

 protected:
  Gradients backward(Gradients grads) override {
    const at::Tensor x = saved(0), inverse = saved(1), weight = saved(2);
    const at::Tensor& dy = grads[0];
    const at::Tensor dsum = grads.size() > 1 ? grads[1] : at::Tensor();
    if (!dy.defined()) return {dsum, dsum, {}};
    Gradients result(3);
    const NormGradients back = rule.backward(dy, x, weight, inverse, dsum, wants(2));
    result[0] = result[1] = back.dx;
    result[2] = weight_gradient(2, weight, back.dweight);
    return result;
  }
};

void check(const char* name, const at::Tensor& x, const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 1 && x.dim() >= 1 && x.size(-1) == weight.size(0), name, " of x ", x.sizes(),
              " with weight ", weight.sizes(), ": expected one weight per element of the last dimension");
  TORCH_CHECK(weight.scalar_type() == x.scalar_type(), name, " of ", x.scalar_type(), " with a weight of ",
              weight.scalar_type(), "; cast one of them");
}

template <class Rule>
at::Tensor normed(const Rule& rule, const at::Tensor& x, const at::Tensor& weight) {
  check(Rule::name, x, weight);
  const auto node = node_for<NormNode<Rule>>({x, at::Tensor(), weight});
  Normed result;
  {
    BelowAutograd below;
    result = rule.forward(x, at::Tensor(), weight);
  }
  if (node) {
    node->rule = rule;
    node->save({x, result.inverse, weight});
    torch::autograd::set_history(result.normed, node);
  }
  return result.normed;
}

template <class Rule>
std::tuple<at::Tensor, at::Tensor> added_and_normed(const Rule& rule, const at::Tensor& x,
                                                    const at::Tensor& residual, const at::Tensor& weight) {
  check(Rule::name, x, weight);
  const bool adds = residual.defined();
  TORCH_CHECK(!adds || (x.sizes() == residual.sizes() && x.scalar_type() == residual.scalar_type()), "add_",
              Rule::name, " of x ", x.sizes(), " ", x.scalar_type(), " and residual ", residual.sizes(), " ",
              residual.scalar_type(), ": they must be alike");
  const auto node = node_for<NormNode<Rule>>({x, residual, weight});
  Normed result;
  {
    BelowAutograd below;
    result = rule.forward(x, residual, weight);
  }
  if (!adds) result.sum = node ? x.variable_data() : x;
  if (node) {
    node->rule = rule;
    torch::autograd::set_history(result.normed, node);
    torch::autograd::set_history(result.sum, node);
    adds ? node->save_output(result.sum) : node->save({x});
    node->save({result.inverse, weight});
  }
  return {result.normed, result.sum};
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool zero_centered) {
  return normed(RmsRule{eps, zero_centered ? 1.0 : 0.0}, x, weight);
}

std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& residual,
                                                const at::Tensor& weight, double eps, bool zero_centered) {
  return added_and_normed(RmsRule{eps, zero_centered ? 1.0 : 0.0}, x, residual, weight);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return normed(LayerRule{eps}, x, weight);
}

std::tuple<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& x, const at::Tensor& residual,
                                                  const at::Tensor& weight, double eps) {
  return added_and_normed(LayerRule{eps}, x, residual, weight);
}

}  // namespace d9d::kernels
