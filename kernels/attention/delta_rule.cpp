#include "kernels/attention/delta_rule.hpp"

#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs and saved: q, k, v, decay, beta. States are computed again, because those at the beginnings of chunks
// are Dk Dv / chunk numbers for each token and head, more than q, k and v together.
class DeltaRuleNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::gated_delta_rule"; }
  DeltaRuleOptions options;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(5);
    auto [dq, dk, dv, ddecay, dbeta] = run_op(&OpTable::delta_rule_backward, grads[0], saved(0), saved(1),
                                              saved(2), saved(3), saved(4), options);
    return {dq, dk, dv, ddecay, dbeta};
  }
};

void check(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
           const at::Tensor& beta, const DeltaRuleOptions& options) {
  TORCH_CHECK(q.dim() == 4 && q.sizes() == k.sizes() && v.dim() == 4 && v.size(0) == q.size(0) &&
                  v.size(1) == q.size(1) && v.size(2) % q.size(2) == 0,
              "gated_delta_rule of q ", q.sizes(), ", k ", k.sizes(), " and v ", v.sizes(),
              ": expected [B, S, Hk, Dk] twice and [B, S, Hv, Dv], Hv a multiple of Hk");
  TORCH_CHECK(decay.sizes() == v.sizes().slice(0, 3) && beta.sizes() == decay.sizes(),
              "gated_delta_rule of v ", v.sizes(), " with decay ", decay.sizes(), " and beta ", beta.sizes(),
              ": expected [B, S, Hv] each");
  const auto sums = sum_dtype(v.scalar_type());
  TORCH_CHECK(q.scalar_type() == v.scalar_type() && k.scalar_type() == v.scalar_type() &&
                  decay.scalar_type() == sums && beta.scalar_type() == sums,
              "gated_delta_rule of ", q.scalar_type(), ", ", k.scalar_type(), " and ", v.scalar_type(),
              " with decay ", decay.scalar_type(), " and beta ", beta.scalar_type(),
              ": q, k and v must be alike, decay and beta ", sums);
  TORCH_CHECK(options.chunk > 0, "gated_delta_rule in chunks of ", options.chunk, " tokens; give 1 or more");
}

}  // namespace

at::Tensor gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta,
                            const DeltaRuleOptions& options) {
  check(q, k, v, decay, beta, options);
  const auto node = node_for<DeltaRuleNode>({q, k, v, decay, beta});
  at::Tensor out;
  {
    BelowAutograd below;
    out = run_once("d9d::gated_delta_rule", {KeptKind::attention}, q, [&]() -> Results {
      return {run_op(&OpTable::delta_rule, q, k, v, decay, beta, options)};
    })[0];
  }
  if (node) {
    node->options = options;
    node->save({q, k, v, decay, beta});
    torch::autograd::set_history(out, node);
  }
  return out;
}

}  // namespace d9d::kernels
