#include "kernels/cuda/norm.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/column_sums_into.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

using kernels::as_rows;

// `centers`: a LayerNorm, whose statistics are [2, rows].
kernels::Normed normed(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& norm_weight,
                       double eps, double offset, bool centers) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor in = as_rows(x), other = maybe_rows(residual), weight = norm_weight.contiguous();
  const auto options = x.options().requires_grad(false);
  kernels::Normed result{at::empty(x.sizes(), options),
                         residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                         centers ? at::empty({2, in.size(0)}, options.dtype(at::kFloat))
                                 : at::empty({in.size(0)}, options.dtype(at::kFloat))};
  auto* const inverse = data_of<float>(result.inverse);
  check_launch(rms_norm({.type = type_of(x),
                         .rows = in.size(0),
                         .width = in.size(1),
                         .x = rows_of(in),
                         .residual = rows_of(other),
                         .weight = weight.const_data_ptr(),
                         .eps = static_cast<float>(eps),
                         .offset = static_cast<float>(offset),
                         .sum = data_of(result.sum),
                         .y = data_of(result.normed),
                         .inverse = inverse,
                         .mean = centers ? inverse + in.size(0) : nullptr},
                        stream_of(x)),
               centers ? "layer_norm" : "rms_norm");
  return result;
}

kernels::NormGradients gradients_of(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& norm_weight,
                                    double offset, const at::Tensor& inverse, const at::Tensor& extra,
                                    bool with_dweight, bool centers) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = maybe_rows(extra),
                   weight = norm_weight.contiguous();
  kernels::NormGradients result{at::empty(x.sizes(), x.options().requires_grad(false)), {}};
  const char* const name = centers ? "layer_norm_backward" : "rms_norm_backward";
  const auto* const inverses = data_of<float>(inverse);
  RmsNormBackward call{.type = type_of(x),
                       .rows = in.size(0),
                       .width = in.size(1),
                       .dy = rows_of(grad),
                       .x = rows_of(in),
                       .extra = rows_of(more),
                       .weight = weight.const_data_ptr(),
                       .offset = static_cast<float>(offset),
                       .inverse = inverses,
                       .mean = centers ? inverses + in.size(0) : nullptr,
                       .dx = data_of(result.dx)};
  at::Tensor partial;
  if (with_dweight) {
    partial = at::empty({rms_norm_partials(call), in.size(1)}, inverse.options());
    call.partial = data_of<float>(partial);
    result.dweight = at::empty({in.size(1)}, inverse.options());
  }
  check_launch(rms_norm_backward(call, stream_of(x)), name);
  if (with_dweight) column_sums_into(partial, result.dweight, 0, name);
  return result;
}

}  // namespace

void add_norm(kernels::OpTable& table) {
  using at::Tensor;
  table.rms_norm = [](const Tensor& x, const Tensor& residual, const Tensor& weight, double eps,
                      double offset) { return normed(x, residual, weight, eps, offset, /*centers=*/false); };
  table.rms_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& weight, double offset,
                               const Tensor& inverse, const Tensor& extra, bool with_dweight) {
    return gradients_of(dy, x, weight, offset, inverse, extra, with_dweight, /*centers=*/false);
  };
  table.layer_norm = [](const Tensor& x, const Tensor& residual, const Tensor& weight, double eps) {
    return normed(x, residual, weight, eps, 0, /*centers=*/true);
  };
  table.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& weight,
                                 const Tensor& inverse, const Tensor& extra, bool with_dweight) {
    return gradients_of(dy, x, weight, 0, inverse, extra, with_dweight, /*centers=*/true);
  };
}

}  // namespace d9d::cuda
