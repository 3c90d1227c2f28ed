#include "kernels/cuda/activation.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::as_rows;

template <Activation activation>
at::Tensor activated(const at::Tensor& gate, const at::Tensor& up) {
  const c10::DeviceGuard guard(gate.device());
  const at::Tensor g = as_rows(gate), u = as_rows(up);
  at::Tensor out = at::empty(gate.sizes(), gate.options().requires_grad(false));
  check_launch(gated_mul({.activation = activation,
                          .type = type_of(gate),
                          .rows = g.size(0),
                          .width = g.size(1),
                          .gate = rows_of(g),
                          .up = rows_of(u),
                          .out = data_of(out)},
                         stream_of(gate)),
               "silu_mul, gelu_mul, gelu_erf_mul");
  return out;
}

template <Activation activation>
kernels::SiluMulGradients activated_backward(const at::Tensor& dout, const at::Tensor& gate,
                                             const at::Tensor& up) {
  const c10::DeviceGuard guard(gate.device());
  const at::Tensor d = as_rows(dout), g = as_rows(gate), u = as_rows(up);
  // Beside each other, so that a projection that made gate and up has the gradient of its input by one product.
  std::vector<int64_t> both_sizes = gate.sizes().vec();
  both_sizes.back() *= 2;
  const at::Tensor both = at::empty(both_sizes, gate.options().requires_grad(false));
  kernels::SiluMulGradients result{both.narrow(-1, 0, g.size(1)), both.narrow(-1, g.size(1), g.size(1))};
  check_launch(gated_mul_backward({.activation = activation,
                                   .type = type_of(gate),
                                   .rows = g.size(0),
                                   .width = g.size(1),
                                   .gate = rows_of(g),
                                   .up = rows_of(u),
                                   .d_out = rows_of(d),
                                   .d_gate = data_of(result.dgate),
                                   .d_up = data_of(result.dup),
                                   .d_stride = 2 * g.size(1)},
                                  stream_of(gate)),
               "silu_mul_backward, gelu_mul_backward, gelu_erf_mul_backward");
  return result;
}

}  // namespace

void add_activation(kernels::OpTable& table) {
  table.silu_mul = activated<Activation::silu>;
  table.silu_mul_backward = activated_backward<Activation::silu>;
  table.gelu_mul = activated<Activation::gelu_tanh>;
  table.gelu_mul_backward = activated_backward<Activation::gelu_tanh>;
  table.gelu_erf_mul = activated<Activation::gelu_erf>;
  table.gelu_erf_mul_backward = activated_backward<Activation::gelu_erf>;
}

}  // namespace d9d::cuda
