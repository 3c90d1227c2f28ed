#include "kernels/moe.hpp"
#include "kernels/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: logits. Saved: softmax [T, E], experts [T, k].
class RouterNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_router"; }
  bool renormalise = false;
  at::ScalarType dtype = at::kFloat;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    return {run_op(&OpTable::moe_router_backward, grads[0], saved(0), saved(1), renormalise).to(dtype)};
  }
};

}  // namespace

std::tuple<at::Tensor, at::Tensor> moe_router(const at::Tensor& logits, int64_t top_k, bool renormalise) {
  TORCH_CHECK(logits.dim() == 2 && top_k >= 1 && top_k <= logits.size(1), "moe_router of logits ",
              logits.sizes(), " with top_k ", top_k, ": expected [T, E] and 1 <= top_k <= E");
  const auto node = node_for<RouterNode>({logits});
  Routing routing;
  {
    BelowAutograd below;
    routing = run_op(&OpTable::moe_router, logits, top_k, renormalise);
  }
  if (node) {
    node->renormalise = renormalise;
    node->dtype = logits.scalar_type();
    node->save({routing.softmax, routing.experts});
    torch::autograd::set_history(routing.probs, node);
  }
  return {routing.probs, routing.experts};
}

}  // namespace d9d::kernels
