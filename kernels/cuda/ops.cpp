// Unwraps tensors; the arithmetic is in the .cu files.
#include "kernels/cuda/ops.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/unwrap.hpp"
#include "kernels/rows.hpp"

namespace d9d::cuda {
namespace {

using kernels::as_rows;

ConstRows rows_of(const at::Tensor& matrix) {
  if (!matrix.defined()) return {};
  return {matrix.const_data_ptr(), matrix.stride(0)};
}

at::Tensor maybe_rows(const at::Tensor& tensor) {
  return tensor.defined() ? as_rows(tensor) : tensor;
}

void* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

kernels::Normed rms_norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& norm_weight,
                         double eps, double offset) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor in = as_rows(x), other = maybe_rows(residual), weight = norm_weight.contiguous();
  const auto options = x.options().requires_grad(false);
  kernels::Normed result{at::empty(x.sizes(), options),
                         residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                         at::empty({in.size(0)}, options.dtype(at::kFloat))};
  check_launch(rms_norm_forward({.type = type_of(x),
                                 .rows = in.size(0),
                                 .width = in.size(1),
                                 .x = rows_of(in),
                                 .residual = rows_of(other),
                                 .weight = weight.const_data_ptr(),
                                 .eps = static_cast<float>(eps),
                                 .offset = static_cast<float>(offset),
                                 .sum = data_of(result.sum),
                                 .y = result.normed.data_ptr(),
                                 .inverse = result.inverse.data_ptr<float>()},
                                current_stream(x)),
               "rms_norm");
  return result;
}

at::Tensor rms_norm_dx(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& norm_weight,
                       double offset, const at::Tensor& inverse, const at::Tensor& extra) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = maybe_rows(extra);
  const at::Tensor weight = norm_weight.contiguous();
  at::Tensor dx = at::empty(x.sizes(), x.options().requires_grad(false));
  check_launch(rms_norm_backward({.type = type_of(x),
                                  .rows = in.size(0),
                                  .width = in.size(1),
                                  .dy = rows_of(grad),
                                  .x = rows_of(in),
                                  .extra = rows_of(more),
                                  .weight = weight.const_data_ptr(),
                                  .offset = static_cast<float>(offset),
                                  .inverse = inverse.const_data_ptr<float>(),
                                  .dx = dx.data_ptr()},
                                 current_stream(x)),
               "rms_norm_dx");
  return dx;
}

void rms_norm_dw(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& inverse, const at::Tensor& into,
                 double beta) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor grad = as_rows(dy), in = as_rows(x);
  const int64_t rows = in.size(0), width = in.size(1);
  const at::Tensor dw = at::empty({width}, inverse.options());
  const at::Tensor partial = at::empty({rms_norm_partials(rows), width}, inverse.options());
  check_launch(rms_norm_backward({.type = type_of(x),
                                  .rows = rows,
                                  .width = width,
                                  .dy = rows_of(grad),
                                  .x = rows_of(in),
                                  .inverse = inverse.const_data_ptr<float>(),
                                  .dw = dw.data_ptr<float>(),
                                  .partial = partial.data_ptr<float>()},
                                 current_stream(x)),
               "rms_norm_dw");
  beta == 0 ? into.copy_(dw) : into.add_(dw);
}

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
  const c10::cuda::CUDAGuard guard(gate.device());
  const at::Tensor g = as_rows(gate), u = as_rows(up);
  at::Tensor out = at::empty(gate.sizes(), gate.options().requires_grad(false));
  check_launch(silu_mul_forward({.type = type_of(gate),
                                 .rows = g.size(0),
                                 .width = g.size(1),
                                 .gate = rows_of(g),
                                 .up = rows_of(u),
                                 .out = out.data_ptr()},
                                current_stream(gate)),
               "silu_mul");
  return out;
}

kernels::SiluMulGradients silu_mul_backward_op(const at::Tensor& dout, const at::Tensor& gate,
                                               const at::Tensor& up) {
  const c10::cuda::CUDAGuard guard(gate.device());
  const at::Tensor d = as_rows(dout), g = as_rows(gate), u = as_rows(up);
  const auto options = gate.options().requires_grad(false);
  kernels::SiluMulGradients result{at::empty(gate.sizes(), options), at::empty(gate.sizes(), options)};
  check_launch(silu_mul_backward({.type = type_of(gate),
                                  .rows = g.size(0),
                                  .width = g.size(1),
                                  .gate = rows_of(g),
                                  .up = rows_of(u),
                                  .d_out = rows_of(d),
                                  .d_gate = result.dgate.data_ptr(),
                                  .d_up = result.dup.data_ptr()},
                                 current_stream(gate)),
               "silu_mul_backward");
  return result;
}

kernels::OpTable make_table() {
  kernels::OpTable table;
  add_matmul(table);
  add_optimizer(table);
  table.rms_norm = rms_norm;
  table.rms_norm_dx = rms_norm_dx;
  table.rms_norm_dw = rms_norm_dw;
  table.silu_mul = silu_mul;
  table.silu_mul_backward = silu_mul_backward_op;
  return table;
}

}  // namespace

const kernels::OpTable& op_table() {
  static const kernels::OpTable table = make_table();
  return table;
}

}  // namespace d9d::cuda
