#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/moe.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {

namespace {

// [R, N]: for each row the bias of its expert, as a product with ones, so that no device needs another op for it.
at::Tensor bias_rows(const at::Tensor& product, const at::Tensor& bias, const at::Tensor& offsets) {
  const at::Tensor ones = at::ones({product.size(0), 1}, product.options());
  at::Tensor rows = at::empty(product.sizes(), product.options());
  run_op(&OpTable::grouped_product, rows, ones, bias.detach().unsqueeze(-1), offsets, true);
  return rows;
}

// Inputs: rows, weight, bias. Saved: rows, weight, offsets.
class GroupedLinearNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::grouped_linear"; }
  bool runs_in_halves() const override { return true; }
  at::Tensor bias;  // not saved: only the gradient buffer of a leaf is needed

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(3);
    if (!grads[0].defined()) return result;
    const at::Tensor rows = saved(0), weight = saved(1), offsets = saved(2), grad = as_rows(grads[0]);
    if (wants(0)) {
      result[0] = at::empty(rows.sizes(), rows.options().requires_grad(false));
      run_op(&OpTable::grouped_product, result[0], grad, weight, offsets, false);
    }
    result[1] =
        weight_gradient(1, weight, [grad, in = as_rows(rows), offsets](const at::Tensor& into, double beta) {
          run_op(&OpTable::grouped_dw, into, grad, in, offsets, beta);
        });
    // The sum over an expert's rows is their product with ones.
    result[2] = weight_gradient(2, bias, [grad, offsets](const at::Tensor& into, double beta) {
      const at::Tensor ones = at::ones({grad.size(0), 1}, grad.options());
      run_op(&OpTable::grouped_dw, into.unsqueeze(-1), grad, ones, offsets, beta);
    });
    return result;
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& offsets,
                          const at::Tensor& bias) {
  TORCH_CHECK(rows.dim() == 2 && weight.dim() == 3 && rows.size(1) == weight.size(2) && offsets.dim() == 1 &&
                  offsets.scalar_type() == at::kLong && offsets.size(0) == weight.size(0) + 1 &&
                  offsets.is_contiguous(),
              "grouped_linear of rows ", rows.sizes(), " with weight ", weight.sizes(), " and offsets ",
              offsets.sizes(), ": expected [R, K], [E, N, K] and int64 [E + 1]");
  TORCH_CHECK(!bias.defined() || bias.sizes() == weight.sizes().slice(0, 2), "grouped_linear with weight ",
              weight.sizes(), " and bias ", bias.sizes(), ": expected [E, N, K] and [E, N]");
  const auto node = node_for<GroupedLinearNode>({rows, weight, bias});
  at::Tensor out;
  {
    BelowAutograd below;
    out = run_once("d9d::grouped_linear", {KeptKind::experts}, rows, [&]() -> Results {
      const at::Tensor product =
          at::empty({rows.size(0), weight.size(1)}, rows.options().requires_grad(false));
      run_op(&OpTable::grouped_product, product, as_rows(rows), weight, offsets, true);
      if (bias.defined()) product.add_(bias_rows(product, bias, offsets));
      return {product};
    })[0];
  }
  if (node) {
    node->bias = bias;
    node->save({rows, weight, offsets});
    torch::autograd::set_history(out, node);
  }
  return out;
}

}  // namespace d9d::kernels
