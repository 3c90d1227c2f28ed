// Of torch's ops: there are as few of these numbers as a hidden state has heads.
#include <ATen/TensorOperators.h>
#include <ATen/ops/softplus.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/rows.hpp"

namespace d9d::cuda {
namespace {

// decay = scale * softplus(x)
struct Parts {
  at::Tensor x, scale;

  Parts(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias) {
    const auto dtype = kernels::sum_dtype(a.scalar_type());
    x = a.to(dtype) + bias.to(dtype);
    scale = log_rate.to(dtype).exp().neg_();
  }
};

at::Tensor decay_gate(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias) {
  const c10::DeviceGuard guard(a.device());
  const Parts parts(a, log_rate, bias);
  return at::softplus(parts.x).mul_(parts.scale).contiguous();
}

kernels::DecayGradients decay_gate_backward(const at::Tensor& grad, const at::Tensor& a,
                                            const at::Tensor& log_rate, const at::Tensor& bias) {
  const c10::DeviceGuard guard(a.device());
  const Parts parts(a, log_rate, bias);
  const int64_t heads = log_rate.size(0);
  const at::Tensor scaled = (grad * parts.scale).reshape({-1, heads}), x = parts.x.reshape({-1, heads});
  const at::Tensor da = scaled * x.sigmoid();
  return {da.view(a.sizes()).to(a.scalar_type()), (scaled * at::softplus(x)).sum(0), da.sum(0)};
}

}  // namespace

void add_decay_gate(kernels::OpTable& table) {
  table.decay_gate = decay_gate;
  table.decay_gate_backward = decay_gate_backward;
}

}  // namespace d9d::cuda
