#include "kernels/attention/attention.hpp"

#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/sinks.hpp"
#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

// Inputs: q, k, v, then sinks and the bias where there are such. Saved: q, k, v, lse, sinks, bias, out.
class AttentionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::attention"; }
  AttentionMask mask;
  double scale = 1;
  VisibleKeys visible;
  bool has_sinks = false, has_bias = false, by_distance = false;

 protected:
  Gradients backward(Gradients grads) override {
    const std::size_t sinks = 3, of_bias = has_sinks ? 4 : 3;  // inputs, saved one place further
    const std::size_t inputs = of_bias + (has_bias ? 1 : 0);
    if (!grads[0].defined()) return Gradients(inputs);
    const at::Tensor q = saved(0);
    const AttentionBlock forward{saved(inputs + 1), saved(3)};
    ScoreBias bias;
    if (has_bias) bias = {saved(of_bias + 1), by_distance, wants(of_bias)};
    const auto [dq, dk, dv, dbias] = attention_block_backward(grads[0], q, saved(1), saved(2), forward, mask,
                                                              scale, q.scalar_type(), visible, bias);
    Gradients all{dq, dk, dv};
    if (has_sinks) all.push_back(sink_gradient(grads[0], forward, saved(sinks + 1)));
    if (has_bias) all.push_back(bias.wants_gradient ? dbias.to(bias.values.scalar_type()) : dbias);
    return all;
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                     double scale, const VisibleKeys& visible, const at::Tensor& sinks,
                     const ScoreBias& bias) {
  std::vector<at::Tensor> inputs{q, k, v};
  if (sinks.defined()) inputs.push_back(sinks);
  if (bias.any()) inputs.push_back(bias.values);
  const auto node = node_for<AttentionNode>(inputs);
  AttentionBlock result;
  {
    BelowAutograd below;
    const auto kept = run_once("d9d::attention", {KeptKind::attention}, q, [&]() -> Results {
      const auto dtype = q.scalar_type();
      result =
          attention_block(q, k, v, mask, scale, sinks.defined() ? sum_dtype(dtype) : dtype, visible, bias);
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
    node->has_bias = bias.any();
    node->by_distance = bias.by_distance;
    inputs.insert(inputs.begin() + 3, result.lse);
    node->save(inputs);
    torch::autograd::set_history(result.out, node);
    node->save_output(result.out);
  }
  return result.out;
}

}  // namespace d9d::kernels
