// Checks shapes and unwraps tensors; the arithmetic is in the .cu files.
#include "kernels/cuda/operators.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {
namespace {

using Maybe = std::optional<at::Tensor>;

ElementType type_of(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  TORCH_CHECK(is_float || tensor.scalar_type() == at::kBFloat16,
              "the CUDA kernels of d9d take float32 and bfloat16, got ", tensor.scalar_type());
  return is_float ? ElementType::float32 : ElementType::bfloat16;
}

// [.., W] as a matrix with dense rows; copies only what has none.
at::Tensor as_rows(const at::Tensor& tensor) {
  const at::Tensor matrix = tensor.reshape({-1, tensor.size(-1)});
  return matrix.stride(1) == 1 || matrix.size(1) == 1 ? matrix : matrix.contiguous();
}

ConstRows rows_of(const at::Tensor& matrix) {
  if (!matrix.defined()) return {};
  return {matrix.const_data_ptr(), matrix.stride(0)};
}

at::Tensor maybe_rows(const Maybe& tensor) {
  return tensor && tensor->defined() ? as_rows(*tensor) : at::Tensor();
}

void check_alike(const at::Tensor& a, const at::Tensor& b, const char* what) {
  TORCH_CHECK(a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device(), what,
              " of ", a.sizes(), " ", a.scalar_type(), " and ", b.sizes(), " ", b.scalar_type(),
              ": they must be alike");
}

void check_weight(const at::Tensor& x, const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 1 && weight.is_contiguous() && weight.size(0) == x.size(-1) &&
                  weight.scalar_type() == x.scalar_type(),
              "rms_norm of ", x.sizes(), " ", x.scalar_type(), " with a weight of ", weight.sizes(), " ",
              weight.scalar_type(), ": expected one of the same type per element of the last dimension");
}

CUstream_st* current_stream(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

void check_launch(int code, const char* what) {
  TORCH_CHECK(code == 0, what, ": CUDA error ", code);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> rms_norm_forward_op(const at::Tensor& x, const Maybe& residual,
                                                                   const at::Tensor& weight, double eps,
                                                                   double offset) {
  const c10::cuda::CUDAGuard guard(x.device());
  check_weight(x, weight);
  if (residual && residual->defined()) check_alike(x, *residual, "add_rms_norm");
  const at::Tensor in = as_rows(x);
  const at::Tensor other = maybe_rows(residual);
  const at::Tensor y = at::empty(x.sizes(), x.options());
  const at::Tensor sum = other.defined() ? at::empty(x.sizes(), x.options()) : at::Tensor();
  const at::Tensor inverse = at::empty({in.size(0)}, x.options().dtype(at::kFloat));
  check_launch(rms_norm_forward({.type = type_of(x),
                                 .rows = in.size(0),
                                 .width = in.size(1),
                                 .x = rows_of(in),
                                 .residual = rows_of(other),
                                 .weight = weight.const_data_ptr(),
                                 .eps = static_cast<float>(eps),
                                 .offset = static_cast<float>(offset),
                                 .sum = sum.defined() ? sum.data_ptr() : nullptr,
                                 .y = y.data_ptr(),
                                 .inverse = inverse.data_ptr<float>()},
                                current_stream(x)),
               "rms_norm_forward");
  return {y, sum, inverse};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward_op(const at::Tensor& dy, const at::Tensor& x,
                                                        const Maybe& extra, const at::Tensor& weight,
                                                        const at::Tensor& inverse, double offset,
                                                        bool want_dw) {
  const c10::cuda::CUDAGuard guard(x.device());
  check_weight(x, weight);
  check_alike(dy, x, "rms_norm_backward");
  const at::Tensor grad = as_rows(dy);
  const at::Tensor in = as_rows(x);
  const at::Tensor more = maybe_rows(extra);
  const at::Tensor dx = at::empty(x.sizes(), x.options());
  const auto sums = x.options().dtype(at::kFloat);
  const at::Tensor dw = want_dw ? at::empty({in.size(1)}, sums) : at::Tensor();
  const at::Tensor partial =
      want_dw ? at::empty({rms_norm_partials(in.size(0)), in.size(1)}, sums) : at::Tensor();
  check_launch(rms_norm_backward({.type = type_of(x),
                                  .rows = in.size(0),
                                  .width = in.size(1),
                                  .dy = rows_of(grad),
                                  .x = rows_of(in),
                                  .extra = rows_of(more),
                                  .weight = weight.const_data_ptr(),
                                  .offset = static_cast<float>(offset),
                                  .inverse = inverse.const_data_ptr<float>(),
                                  .dx = dx.data_ptr(),
                                  .dw = want_dw ? dw.data_ptr<float>() : nullptr,
                                  .partial = want_dw ? partial.data_ptr<float>() : nullptr},
                                 current_stream(x)),
               "rms_norm_backward");
  return {dx, dw};
}

at::Tensor silu_mul_forward_op(const at::Tensor& gate, const at::Tensor& up) {
  const c10::cuda::CUDAGuard guard(gate.device());
  check_alike(gate, up, "silu_mul");
  const at::Tensor g = as_rows(gate);
  const at::Tensor u = as_rows(up);
  const at::Tensor out = at::empty(gate.sizes(), gate.options());
  check_launch(silu_mul_forward({.type = type_of(gate),
                                 .rows = g.size(0),
                                 .width = g.size(1),
                                 .gate = rows_of(g),
                                 .up = rows_of(u),
                                 .out = out.data_ptr()},
                                current_stream(gate)),
               "silu_mul_forward");
  return out;
}

std::tuple<at::Tensor, at::Tensor> silu_mul_backward_op(const at::Tensor& d_out, const at::Tensor& gate,
                                                        const at::Tensor& up) {
  const c10::cuda::CUDAGuard guard(gate.device());
  check_alike(gate, up, "silu_mul_backward");
  check_alike(gate, d_out, "silu_mul_backward");
  const at::Tensor d = as_rows(d_out);
  const at::Tensor g = as_rows(gate);
  const at::Tensor u = as_rows(up);
  const at::Tensor d_gate = at::empty(gate.sizes(), gate.options());
  const at::Tensor d_up = at::empty(gate.sizes(), gate.options());
  check_launch(silu_mul_backward({.type = type_of(gate),
                                  .rows = g.size(0),
                                  .width = g.size(1),
                                  .gate = rows_of(g),
                                  .up = rows_of(u),
                                  .d_out = rows_of(d),
                                  .d_gate = d_gate.data_ptr(),
                                  .d_up = d_up.data_ptr()},
                                 current_stream(gate)),
               "silu_mul_backward");
  return {d_gate, d_up};
}

}  // namespace

std::shared_ptr<void> register_operators() {
  auto library =
      std::make_shared<torch::Library>(torch::Library::FRAGMENT, "d9d", std::nullopt, __FILE__, __LINE__);
  library->def(
      "rms_norm_forward(Tensor x, Tensor? residual, Tensor weight, float eps, float offset) -> "
      "(Tensor, Tensor, Tensor)",
      torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(rms_norm_forward_op)));
  library->def(
      "rms_norm_backward(Tensor dy, Tensor x, Tensor? extra, Tensor weight, Tensor inverse, float offset, "
      "bool want_dw) -> (Tensor, Tensor)",
      torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(rms_norm_backward_op)));
  library->def("silu_mul_forward(Tensor gate, Tensor up) -> Tensor",
               torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(silu_mul_forward_op)));
  library->def("silu_mul_backward(Tensor d_out, Tensor gate, Tensor up) -> (Tensor, Tensor)",
               torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(silu_mul_backward_op)));
  return library;
}

}  // namespace d9d::cuda
