#include "kernels/attention/short_convolution.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs and saved: all x, then weight. An output for each x.
class ConvolutionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::short_convolution"; }
  std::vector<int64_t> first;

 protected:
  Gradients backward(Gradients grads) override {
    const std::size_t count = first.size();
    const at::Tensor weight = saved(count);
    ConvolutionInputs in;
    ConvolutionParts dy;
    std::vector<std::size_t> wanted;  // those with a gradient
    for (std::size_t i = 0; i < count; ++i) {
      if (!grads[i].defined()) continue;
      in.x.push_back(saved(i));
      in.first.push_back(first[i]);
      dy.of.push_back(grads[i]);
      wanted.push_back(i);
    }
    Gradients result(count + 1);
    if (wanted.empty()) return result;
    const ConvolutionGradients back = run_op(&OpTable::short_convolution_dx, dy, in, weight);
    for (std::size_t i = 0; i < wanted.size(); ++i) result[wanted[i]] = back.dx[i];
    result[count] = weight_gradient(
        count, weight, [dsum = ConvolutionParts{back.dsum}, in](const at::Tensor& into, double beta) {
          run_op(&OpTable::short_convolution_dw, dsum, in, into, beta);
        });
    return result;
  }
};

void check(const ConvolutionInputs& in, const at::Tensor& weight) {
  TORCH_CHECK(!in.x.empty() && in.x.size() <= convolved_max && in.first.size() == in.x.size(),
              "short_convolution of ", in.x.size(), " tensors with ", in.first.size(),
              " first rows: expected one to ", convolved_max, ", and a row for each");
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const at::Tensor& x = in.x[i];
    TORCH_CHECK(x.dim() == 4 && weight.dim() == 3 && weight.size(1) == 1 && weight.size(2) > 0 &&
                    in.first[i] >= 0 && in.first[i] + x.size(2) * x.size(3) <= weight.size(0),
                "short_convolution of x ", x.sizes(), " with weight ", weight.sizes(), " from row ",
                in.first[i], ": expected [B, S, H, W] and [C, 1, K] with H W rows from there");
    TORCH_CHECK(x.sizes().slice(0, 3) == in.x[0].sizes().slice(0, 3), "short_convolution of x ", x.sizes(),
                " beside ", in.x[0].sizes(), ": expected the same [B, S, H]");
    TORCH_CHECK(x.scalar_type() == weight.scalar_type(), "short_convolution of ", x.scalar_type(),
                " with a weight of ", weight.scalar_type(), "; cast one of them");
  }
}

}  // namespace

std::vector<at::Tensor> short_convolution(const ConvolutionInputs& given, const at::Tensor& weight) {
  check(given, weight);
  ConvolutionInputs in = given;
  for (at::Tensor& x : in.x)
    if (x.stride(3) != 1 && x.size(3) != 1) x = x.contiguous();
  std::vector<at::Tensor> all = in.x;
  all.push_back(weight);
  const auto node = node_for<ConvolutionNode>(all);
  std::vector<at::Tensor> y;
  {
    BelowAutograd below;
    y = run_op(&OpTable::short_convolution, in, weight).of;
  }
  if (node) {
    node->first = in.first;
    node->save(all);
    for (at::Tensor& part : y) torch::autograd::set_history(part, node);
  }
  return y;
}

at::Tensor short_convolution(const at::Tensor& x, const at::Tensor& weight, int64_t first) {
  return short_convolution(ConvolutionInputs{{x}, {first}}, weight)[0];
}

}  // namespace d9d::kernels
