#include "kernels/attention/short_convolution.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs and saved: x, weight.
class ConvolutionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::short_convolution"; }
  int64_t first = 0;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(2);
    const at::Tensor x = saved(0), weight = saved(1);
    auto [dx, dsum] = run_op(&OpTable::short_convolution_dx, grads[0], x, weight, first);
    at::Tensor dweight =
        weight_gradient(1, weight, [dsum = dsum, x, row = first](const at::Tensor& into, double beta) {
          run_op(&OpTable::short_convolution_dw, dsum, x, into, row, beta);
        });
    return {dx, dweight};
  }
};

}  // namespace

at::Tensor short_convolution(const at::Tensor& x, const at::Tensor& weight, int64_t first) {
  TORCH_CHECK(x.dim() == 4 && weight.dim() == 3 && weight.size(1) == 1 && weight.size(2) > 0 && first >= 0 &&
                  first + x.size(2) * x.size(3) <= weight.size(0),
              "short_convolution of x ", x.sizes(), " with weight ", weight.sizes(), " from row ", first,
              ": expected [B, S, H, W] and [C, 1, K] with H W rows from there");
  TORCH_CHECK(x.scalar_type() == weight.scalar_type(), "short_convolution of ", x.scalar_type(),
              " with a weight of ", weight.scalar_type(), "; cast one of them");
  const at::Tensor dense = x.stride(3) == 1 || x.size(3) == 1 ? x : x.contiguous();
  const auto node = node_for<ConvolutionNode>({dense, weight});
  at::Tensor y;
  {
    BelowAutograd below;
    y = run_op(&OpTable::short_convolution, dense, weight, first);
  }
  if (node) {
    node->first = first;
    node->save({dense, weight});
    torch::autograd::set_history(y, node);
  }
  return y;
}

}  // namespace d9d::kernels
