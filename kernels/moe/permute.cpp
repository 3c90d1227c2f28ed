#include "kernels/graph/node.hpp"
#include "kernels/memory/chosen_rows.hpp"
#include "kernels/moe.hpp"
#include "kernels/moe/choice_counts.hpp"
#include "kernels/moe/choices.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Saved: map.
class PermuteNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_permute"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    return {run_op(&OpTable::combine_rows, grads[0], saved(0), at::Tensor())};
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
    Gradients result(2);
    if (wants(0)) result[0] = run_op(&OpTable::spread_rows, grads[0], map, probs, rows.size(0));
    if (wants(1)) result[1] = run_op(&OpTable::row_dots, grads[0], rows, map);
    return result;
  }
};

}  // namespace

at::Tensor choice_counts(const at::Tensor& experts, int64_t num_experts) {
  return counts_of_offsets(std::get<0>(order_rows(experts, num_experts)));
}

at::Tensor counts_of_offsets(const at::Tensor& offsets) {
  const BelowAutograd below;
  const int64_t num_experts = offsets.numel() - 1;
  return offsets.narrow(0, 1, num_experts).sub(offsets.narrow(0, 0, num_experts));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> moe_permute(const at::Tensor& x, const at::Tensor& experts,
                                                           int64_t num_experts) {
  check_choices("moe_permute", x, experts);
  ExpertOrder order;
  {
    const BelowAutograd below;
    order = run_op(&OpTable::expert_order, experts, num_experts);
  }
  const int64_t num_rows = order.num_rows >= 0 ? order.num_rows : count_rows(experts, num_experts);
  return {spread_rows(x, order.map, num_rows), order.offsets, order.map};
}

std::tuple<at::Tensor, at::Tensor> order_rows(const at::Tensor& experts, int64_t num_experts) {
  const BelowAutograd below;
  const ExpertOrder order = run_op(&OpTable::expert_order, experts, num_experts);
  return {order.offsets, order.map};
}

at::Tensor spread_rows(const at::Tensor& x, const at::Tensor& map, int64_t num_rows) {
  const auto node = node_for<PermuteNode>({x});
  at::Tensor rows;
  {
    const BelowAutograd below;
    rows = run_op(&OpTable::spread_rows, x, map, at::Tensor(), num_rows);
  }
  if (node) {
    node->save({map});
    torch::autograd::set_history(rows, node);
  }
  return rows;
}

at::Tensor choice_owners(const at::Tensor& experts, int64_t per_owner) {
  TORCH_CHECK(experts.dim() == 2 && experts.scalar_type() == at::kLong && per_owner > 0,
              "choice_owners of experts ", experts.sizes(), " ", experts.scalar_type(), " with ", per_owner,
              " each: expected int64 [T, k] and at least one");
  const BelowAutograd below;
  return run_op(&OpTable::choice_owners, experts, per_owner);
}

at::Tensor moe_unpermute(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& map) {
  const auto sums = sum_dtype(rows.scalar_type());
  TORCH_CHECK(
      rows.dim() == 2 && map.dim() == 2 && probs.sizes() == map.sizes() && probs.scalar_type() == sums,
      "moe_unpermute of rows ", rows.sizes(), " with probs ", probs.sizes(), " ", probs.scalar_type(),
      " and map ", map.sizes(), ": expected [R, H] and twice [T, k], probs ", sums);
  const auto node = node_for<UnpermuteNode>({rows, probs});
  at::Tensor y;
  {
    BelowAutograd below;
    y = run_op(&OpTable::combine_rows, rows, map.contiguous(), probs);
  }
  if (node) {
    node->save({rows, probs, map.contiguous()});
    torch::autograd::set_history(y, node);
  }
  return y;
}

}  // namespace d9d::kernels
