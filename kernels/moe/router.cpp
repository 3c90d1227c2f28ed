#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/moe.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: logits. Saved: scores [T, E], experts [T, k].
class RouterNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_router"; }
  RouterRule rule;
  at::ScalarType dtype = at::kFloat;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    return {run_op(&OpTable::moe_router_backward, grads[0], saved(0), saved(1), rule).to(dtype)};
  }
};

void check(const at::Tensor& logits, const RouterRule& rule, const at::Tensor& bias) {
  TORCH_CHECK(logits.dim() == 2 && rule.top_k >= 1 && rule.top_k <= logits.size(1), "moe_router of logits ",
              logits.sizes(), " with top_k ", rule.top_k, ": expected [T, E] and 1 <= top_k <= E");
  TORCH_CHECK(!bias.defined() || bias.sizes() == logits.sizes().slice(1), "moe_router of logits ",
              logits.sizes(), " with a bias: expected as many elements as experts");
  if (!rule.limits_groups()) return;
  const int64_t width = logits.size(1) / rule.groups;
  TORCH_CHECK(width >= 2 && width * rule.groups == logits.size(1) && rule.kept_groups >= 1 &&
                  rule.top_k <= rule.kept_groups * width,
              "moe_router of logits ", logits.sizes(), " with ", rule.kept_groups, " of ", rule.groups,
              " groups and top_k ", rule.top_k,
              ": expected groups of two experts or more that divide E, and ",
              "top_k experts in those that are kept");
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> moe_router(const at::Tensor& logits, const RouterRule& rule,
                                              const at::Tensor& bias) {
  check(logits, rule, bias);
  const auto node = node_for<RouterNode>({logits});
  Routing routing;
  {
    BelowAutograd below;
    // Kept with all that is ordered by it: another choice in the second run would not fit.
    const auto kept =
        run_once("d9d::moe_router", {KeptKind::experts, KeptKind::exchange}, logits, [&]() -> Results {
          const at::Tensor added =
              bias.defined() ? bias.detach().to(sum_dtype(logits.scalar_type())).contiguous() : bias;
          const Routing chosen = run_op(&OpTable::moe_router, logits, added, rule);
          return {chosen.scores, chosen.probs, chosen.experts};
        });
    routing = {kept[0], kept[1], kept[2]};
  }
  if (node) {
    node->rule = rule;
    node->dtype = logits.scalar_type();
    node->save({routing.scores, routing.experts});
    torch::autograd::set_history(routing.probs, node);
  }
  return {routing.probs, routing.experts};
}

}  // namespace d9d::kernels
