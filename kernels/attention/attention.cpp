#include "kernels/attention/attention.hpp"

#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/sinks.hpp"
#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

// Inputs: q, k, v, and sinks if there are any. Saved: q, k, v, lse, sinks, out.
class AttentionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::attention"; }
  AttentionMask mask;
  double scale = 1;
  VisibleKeys visible;
  bool has_sinks = false;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(has_sinks ? 4 : 3);
    const at::Tensor q = saved(0);
    const AttentionBlock forward{saved(has_sinks ? 5 : 4), saved(3)};
    const auto [dq, dk, dv] = attention_block_backward(grads[0], q, saved(1), saved(2), forward, mask, scale,
                                                       q.scalar_type(), visible);
    if (!has_sinks) return {dq, dk, dv};
    return {dq, dk, dv, sink_gradient(grads[0], forward, saved(4))};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                     double scale, const VisibleKeys& visible, const at::Tensor& sinks) {
  std::vector<at::Tensor> inputs{q, k, v};
  if (sinks.defined()) inputs.push_back(sinks);
  const auto node = node_for<AttentionNode>(inputs);
  AttentionBlock result;
  {
    BelowAutograd below;
    const auto kept = run_once("d9d::attention", {KeptKind::attention}, q, [&]() -> Results {
      const auto dtype = q.scalar_type();
      result = attention_block(q, k, v, mask, scale, sinks.defined() ? sum_dtype(dtype) : dtype, visible);
      if (sinks.defined()) {
        add_sinks(result, sinks);
        result.out = result.out.to(dtype);
      }
      return {result.out, result.lse};
    });
    result = {kept[0], kept[1]};
  }
  if (node) {
    node->mask = mask;
    node->scale = scale;
    node->visible = visible;
    node->has_sinks = sinks.defined();
    inputs.insert(inputs.begin() + 3, result.lse);
    node->save(inputs);
    torch::autograd::set_history(result.out, node);
    node->save_output(result.out);
  }
  return result.out;
}

}  // namespace d9d::kernels
