#include "kernels/norm.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/node.hpp"
#include "kernels/reduce.hpp"

namespace d9d::kernels {
namespace {

struct Normed {
  at::Tensor normed, sum, inverse;
};

// `residual` may be undefined; then `sum` is too.
Normed norm_forward(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps,
                    double offset) {
  const at::Tensor in = as_rows(x), other = residual.defined() ? as_rows(residual) : residual;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  const auto options = x.options().requires_grad(false);
  Normed result{at::empty(x.sizes(), options),
                residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                at::empty({rows}, options.dtype(sum_dtype(x.scalar_type())))};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      T* sum = data_of<T>(result.sum);
      kernel_table<T>().rms_norm(
          end - begin, width, rows_of<T>(in, begin), rows_of<T>(other, begin), data_of<T>(scale),
          static_cast<S>(eps), static_cast<S>(offset), sum ? sum + begin * width : nullptr,
          data_of<T>(result.normed) + begin * width, data_of<S>(result.inverse) + begin);
    });
  });
  return result;
}

at::Tensor norm_dx(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, double offset,
                   const at::Tensor& inverse, const at::Tensor& extra) {
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = extra.defined() ? as_rows(extra) : extra;
  const at::Tensor scale = weight.contiguous();
  const int64_t width = in.size(1);
  at::Tensor dx = at::empty(x.sizes(), x.options().requires_grad(false));
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(in.size(0), width, [&](int64_t begin, int64_t end) {
      kernel_table<T>().rms_norm_dx(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                    data_of<T>(scale), static_cast<S>(offset), data_of<S>(inverse) + begin,
                                    rows_of<T>(more, begin), data_of<T>(dx) + begin * width);
    });
  });
  return dx;
}

void norm_dw(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& inverse, const at::Tensor& into,
             double beta) {
  const at::Tensor grad = as_rows(dy), in = as_rows(x);
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const int64_t width = in.size(1);
    const at::Tensor total =
        reduce_rows<S>(in.size(0), width, inverse.options(), [&](int64_t begin, int64_t end, S* dw) {
          kernel_table<T>().rms_norm_dw(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                        data_of<S>(inverse) + begin, dw);
        });
    beta == 0 ? into.copy_(total) : into.add_(total);
  });
}

// Inputs: x, residual (may be undefined), weight. Saved: what was normed, inverse, weight.
class NormNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::rms_norm"; }
  double offset = 0;

 protected:
  Gradients backward(Gradients grads) override {
    const at::Tensor x = saved(0), inverse = saved(1), weight = saved(2);
    const at::Tensor& dy = grads[0];
    const at::Tensor dsum = grads.size() > 1 ? grads[1] : at::Tensor();
    if (!dy.defined()) return {dsum, dsum, {}};
    Gradients result(3);
    if (wants(0) || wants(1)) result[0] = result[1] = norm_dx(dy, x, weight, offset, inverse, dsum);
    result[2] = weight_gradient(2, weight, [dy, x, inverse](const at::Tensor& into, double beta) {
      norm_dw(dy, x, inverse, into, beta);
    });
    return result;
  }
};

void check(const at::Tensor& x, const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 1 && x.dim() >= 1 && x.size(-1) == weight.size(0), "rms_norm of x ", x.sizes(),
              " with weight ", weight.sizes(), ": expected one weight per element of the last dimension");
  TORCH_CHECK(weight.scalar_type() == x.scalar_type(), "rms_norm of ", x.scalar_type(), " with a weight of ",
              weight.scalar_type(), "; cast one of them");
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool zero_centered) {
  check(x, weight);
  const auto node = node_for<NormNode>({x, at::Tensor(), weight});
  const double offset = zero_centered ? 1 : 0;
  Normed result;
  {
    BelowAutograd below;
    result = norm_forward(x, {}, weight, eps, offset);
  }
  if (node) {
    node->offset = offset;
    node->save({x, result.inverse, weight});
    torch::autograd::set_history(result.normed, node);
  }
  return result.normed;
}

std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& residual,
                                                const at::Tensor& weight, double eps) {
  check(x, weight);
  const bool adds = residual.defined();
  TORCH_CHECK(!adds || (x.sizes() == residual.sizes() && x.scalar_type() == residual.scalar_type()),
              "add_rms_norm of x ", x.sizes(), " ", x.scalar_type(), " and residual ", residual.sizes(), " ",
              residual.scalar_type(), ": they must be alike");
  const auto node = node_for<NormNode>({x, residual, weight});
  Normed result;
  {
    BelowAutograd below;
    result = norm_forward(x, residual, weight, eps, 0);
  }
  if (!adds) result.sum = node ? x.variable_data() : x;
  if (node) {
    torch::autograd::set_history(result.normed, node);
    torch::autograd::set_history(result.sum, node);
    adds ? node->save_output(result.sum) : node->save({x});
    node->save({result.inverse, weight});
  }
  return {result.normed, result.sum};
}

}  // namespace d9d::kernels
