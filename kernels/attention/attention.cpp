#include "kernels/attention/attention.hpp"

#include "kernels/attention/attention_block.hpp"
#include "kernels/graph/node.hpp"

namespace d9d::kernels {
namespace {

// Inputs: q, k, v. Saved: q, k, v, lse, out.
class AttentionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::attention"; }
  AttentionMask mask;
  double scale = 1;
  VisibleKeys visible;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}, {}};
    const at::Tensor q = saved(0);
    const auto [dq, dk, dv] = attention_block_backward(grads[0], q, saved(1), saved(2), {saved(4), saved(3)},
                                                       mask, scale, q.scalar_type(), visible);
    return {dq, dk, dv};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                     double scale, const VisibleKeys& visible) {
  const auto node = node_for<AttentionNode>({q, k, v});
  AttentionBlock result;
  {
    BelowAutograd below;
    result = attention_block(q, k, v, mask, scale, q.scalar_type(), visible);
  }
  if (node) {
    node->mask = mask;
    node->scale = scale;
    node->visible = visible;
    node->save({q, k, v, result.lse});
    torch::autograd::set_history(result.out, node);
    node->save_output(result.out);
  }
  return result.out;
}

}  // namespace d9d::kernels
