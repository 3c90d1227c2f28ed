#include <ATen/ops/empty.h>

#include "kernels/gemm.hpp"
#include "kernels/grouped.hpp"
#include "kernels/moe.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {

void grouped_product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                     const at::Tensor& offsets, bool transposed, double beta) {
  const auto* offset = offsets.const_data_ptr<int64_t>();
  for (int64_t e = 0; e < weight.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    if (count == 0) continue;
    matmul(out.narrow(0, begin, count), in.narrow(0, begin, count), transposed ? weight[e].t() : weight[e],
           beta);
  }
}

void grouped_weight_gradient(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                             const at::Tensor& offsets, double beta) {
  const auto* offset = offsets.const_data_ptr<int64_t>();
  for (int64_t e = 0; e < into.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    matmul(into[e], grad.narrow(0, begin, count).t(), in.narrow(0, begin, count), beta);
  }
}

namespace {

// Inputs: rows, weight. Saved: rows, weight, offsets.
class GroupedLinearNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::grouped_linear"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const at::Tensor rows = saved(0), weight = saved(1), offsets = saved(2), grad = as_rows(grads[0]);
    Gradients result(2);
    if (wants(0)) {
      result[0] = at::empty(rows.sizes(), rows.options().requires_grad(false));
      grouped_product(result[0], grad, weight, offsets, false);
    }
    result[1] =
        weight_gradient(1, weight, [grad, in = as_rows(rows), offsets](const at::Tensor& into, double beta) {
          grouped_weight_gradient(into, grad, in, offsets, beta);
        });
    return result;
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& offsets) {
  TORCH_CHECK(rows.dim() == 2 && weight.dim() == 3 && rows.size(1) == weight.size(2) && offsets.dim() == 1 &&
                  offsets.scalar_type() == at::kLong && offsets.size(0) == weight.size(0) + 1 &&
                  offsets.is_contiguous(),
              "grouped_linear of rows ", rows.sizes(), " with weight ", weight.sizes(), " and offsets ",
              offsets.sizes(), ": expected [R, K], [E, N, K] and int64 [E + 1]");
  TORCH_CHECK(offsets.const_data_ptr<int64_t>()[weight.size(0)] == rows.size(0),
              "grouped_linear: the last offset is ", offsets.const_data_ptr<int64_t>()[weight.size(0)],
              " but there are ", rows.size(0), " rows");
  const auto node = node_for<GroupedLinearNode>({rows, weight});
  at::Tensor out;
  {
    BelowAutograd below;
    out = at::empty({rows.size(0), weight.size(1)}, rows.options().requires_grad(false));
    grouped_product(out, as_rows(rows), weight, offsets, true);
  }
  if (node) {
    node->save({rows, weight, offsets});
    torch::autograd::set_history(out, node);
  }
  return out;
}

}  // namespace d9d::kernels
