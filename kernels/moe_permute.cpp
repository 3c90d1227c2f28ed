#include "kernels/moe.hpp"
#include "kernels/moe_rows.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

// Saved: map.
class PermuteNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_permute"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    return {combine_rows(grads[0], saved(0), {})};
  }
};

// Inputs: rows, probs. Saved: rows, probs, map.
class UnpermuteNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_unpermute"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const at::Tensor rows = saved(0), probs = saved(1), map = saved(2);
    return {wants(0) ? spread_rows(grads[0], map, probs, rows.size(0)) : at::Tensor(),
            wants(1) ? row_dots(grads[0], rows, map) : at::Tensor()};
  }
};

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> moe_permute(const at::Tensor& x, const at::Tensor& experts,
                                                           int64_t num_experts) {
  TORCH_CHECK(x.dim() == 2 && experts.dim() == 2 && x.size(0) == experts.size(0), "moe_permute of x ",
              x.sizes(), " by experts ", experts.sizes(), ": expected [T, H] and [T, k]");
  const auto node = node_for<PermuteNode>({x});
  const ExpertOrder order = expert_order(experts, num_experts);
  at::Tensor rows;
  {
    BelowAutograd below;
    rows = spread_rows(x, order.map, {}, order.offsets.const_data_ptr<int64_t>()[num_experts]);
  }
  if (node) {
    node->save({order.map});
    torch::autograd::set_history(rows, node);
  }
  return {rows, order.offsets, order.map};
}

at::Tensor moe_unpermute(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& map) {
  const auto sums = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  TORCH_CHECK(
      rows.dim() == 2 && map.dim() == 2 && probs.sizes() == map.sizes() && probs.scalar_type() == sums,
      "moe_unpermute of rows ", rows.sizes(), " with probs ", probs.sizes(), " ", probs.scalar_type(),
      " and map ", map.sizes(), ": expected [R, H] and twice [T, k], probs ", sums);
  const auto node = node_for<UnpermuteNode>({rows, probs});
  at::Tensor y;
  {
    BelowAutograd below;
    y = combine_rows(rows, map.contiguous(), probs);
  }
  if (node) {
    node->save({rows, probs, map.contiguous()});
    torch::autograd::set_history(y, node);
  }
  return y;
}

}  // namespace d9d::kernels
