#include "kernels/activation.hpp"
#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/moe.hpp"
#include "kernels/moe/choices.hpp"
#include "kernels/ops/backend.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: x, probs, gate, up, down. Saved: x, gate, up, down, gate and up activations.
class MoeExpertsNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_experts"; }
  ExpertRows rows;

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(5);
    if (!grads[0].defined()) return result;
    const at::Tensor x = as_rows(saved(0)), gate = saved(1), up = saved(2), down = saved(3);
    const ExpertFactor of_x = shared_factor(x), dy = shared_factor(as_rows(grads[0]));
    const auto back = run_op(&OpTable::expert_row_gradients, dy, saved(4), saved(5), down, rows);
    if (wants(0)) result[0] = run_op(&OpTable::expert_dx, back, gate, up, rows, x.size(0));
    if (wants(1)) result[1] = run_op(&OpTable::expert_dprobs, back.scale, rows);
    result[2] = gradient_of_weight(2, gate, {back.gate}, of_x);
    result[3] = gradient_of_weight(3, up, {back.up}, of_x);
    // Work that waits holds the tokens, not the rows of all their choices.
    const bool waits = work_ && work_->mode() == WeightWork::Mode::deferred;
    result[4] = gradient_of_weight(4, down, waits ? shared_factor(dy.matrix) : dy, {back.hidden});
    return result;
  }

 private:
  // Submits or returns the gradient of a weight [E, N, M]: that of weight[e] is left_e^T right_e.
  at::Tensor gradient_of_weight(std::size_t input, const at::Tensor& weight, const ExpertFactor& left,
                                const ExpertFactor& right) {
    return weight_gradient(input, weight, [=, rows = rows](const at::Tensor& into, double beta) {
      run_op(&OpTable::expert_dw, into, left, right, rows, beta);
    });
  }
};

at::Tensor composed(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                    const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                    at::Tensor* known_offsets) {
  const auto [rows, offsets, map] = moe_permute(x, experts, gate.size(0));
  if (known_offsets != nullptr) *known_offsets = offsets;
  const at::Tensor hidden = silu_mul(grouped_linear(rows, gate, offsets), grouped_linear(rows, up, offsets));
  return moe_unpermute(grouped_linear(hidden, down, offsets), probs, map);
}

// The ops of experts on a CPU multiply by loops of d9d alone.
bool is_composed(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ||
         (place_of(x) != Place::gpu && backends().grouped_product == GroupedBackend::expert_by_expert);
}

bool is_stack(const at::Tensor& weight, int64_t experts, int64_t out, int64_t in) {
  return weight.sizes() == at::IntArrayRef({experts, out, in}) && weight.is_contiguous();
}

}  // namespace

at::Tensor moe_experts(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                       const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                       at::Tensor* offsets) {
  if (is_composed(x)) return composed(x, probs, experts, gate, up, down, offsets);
  const int64_t count = gate.size(0), inner = gate.size(1), width = x.size(-1);
  TORCH_CHECK(x.dim() == 2 && gate.dim() == 3 && is_stack(gate, count, inner, width) &&
                  is_stack(up, count, inner, width) && is_stack(down, count, width, inner),
              "moe_experts of x ", x.sizes(), " with gate ", gate.sizes(), ", up ", up.sizes(), ", down ",
              down.sizes(), ": expected [T, H] and contiguous [E, I, H], [E, I, H], [E, H, I]");
  check_choices("moe_experts", x, experts);
  TORCH_CHECK(probs.sizes() == experts.sizes() && probs.scalar_type() == at::kFloat,
              "moe_experts with experts ", experts.sizes(), " and probs ", probs.sizes(), " ",
              probs.scalar_type(), ": expected [T, k] each, probs float32");
  const auto node = node_for<MoeExpertsNode>({x, probs, gate, up, down});
  BelowAutograd below;
  const Results projected = run_once("d9d::expert_project", {KeptKind::experts}, x, [&]() -> Results {
    const ExpertRows of = run_op(&OpTable::expert_rows, experts, probs, count);
    const ExpertFactor tokens = shared_factor(as_rows(x.detach()));
    return {of.offsets,
            of.map,
            of.token,
            of.scale,
            run_op(&OpTable::expert_project, tokens, gate, of),
            run_op(&OpTable::expert_project, tokens, up, of)};
  });
  const ExpertRows rows{projected[0], projected[1], projected[2], projected[3]};
  if (offsets != nullptr) *offsets = rows.offsets;
  const at::Tensor &gated = projected[4], &above = projected[5];
  const at::Tensor y = run_once("d9d::expert_combine", {KeptKind::experts}, x, [&]() -> Results {
    return {run_op(&OpTable::expert_combine, gated, above, down, rows, x.size(0))};
  })[0];
  if (node) {
    node->rows = rows;
    node->save({x, gate, up, down, gated, above});
    torch::autograd::set_history(y, node);
  }
  return y;
}

}  // namespace d9d::kernels
