#include "kernels/cuda/attention/delta_gates.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/column_sums_into.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

// Dense.
struct Inputs {
  at::Tensor gates, log_rate, bias;

  DeltaGates call(double normalizer) const {
    const int64_t key_heads = gates.size(-2), group = gates.size(-1) / 2;
    return {.type = type_of(gates),
            .tokens = gates.numel() == 0 ? 0 : gates.numel() / (2 * key_heads * group),
            .key_heads = key_heads,
            .group = group,
            .gates = gates.const_data_ptr(),
            .log_rate = data_of(log_rate),
            .bias = data_of(bias),
            .normalizer = static_cast<float>(normalizer)};
  }
};

Inputs dense(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias) {
  return {gates.contiguous(), maybe_contiguous(log_rate), maybe_contiguous(bias)};
}

kernels::DeltaGates gates_of(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias,
                             double normalizer) {
  const c10::DeviceGuard guard(gates.device());
  const Inputs in = dense(gates, log_rate, bias);
  auto sizes = gates.sizes().vec();
  sizes.pop_back();
  sizes.back() *= gates.size(-1) / 2;
  const auto options = gates.options().requires_grad(false).dtype(at::kFloat);
  kernels::DeltaGates result{at::empty(sizes, options), at::empty(sizes, options)};
  DeltaGates call = in.call(normalizer);
  call.decay = data_of<float>(result.decay);
  call.beta = data_of<float>(result.beta);
  check_launch(delta_gates(call, stream_of(gates)), "delta_gates");
  return result;
}

kernels::DeltaGateGradients gradients_of(const at::Tensor& ddecay, const at::Tensor& dbeta,
                                         const at::Tensor& gates, const at::Tensor& beta,
                                         const at::Tensor& log_rate, const at::Tensor& bias,
                                         double normalizer) {
  const c10::DeviceGuard guard(gates.device());
  const Inputs in = dense(gates, log_rate, bias);
  const at::Tensor from_decay = ddecay.contiguous(), from_beta = dbeta.contiguous();
  const auto options = gates.options().requires_grad(false);
  kernels::DeltaGateGradients result{at::empty(gates.sizes(), options), {}, {}};
  DeltaGatesBackward call{.of = in.call(normalizer),
                          .beta = beta.const_data_ptr<float>(),
                          .ddecay = from_decay.const_data_ptr<float>(),
                          .dbeta = from_beta.const_data_ptr<float>(),
                          .dgates = data_of(result.dgates)};
  const int64_t heads = call.of.heads();
  at::Tensor partial;
  if (log_rate.defined()) {
    partial = at::empty({delta_gates_slabs(call.of.tokens), 2 * heads}, options.dtype(at::kFloat));
    call.partial = data_of<float>(partial);
  }
  check_launch(delta_gates_backward(call, stream_of(gates)), "delta_gates_backward");
  if (!log_rate.defined()) return result;
  const at::Tensor sums = at::empty({2 * heads}, options.dtype(at::kFloat));
  column_sums_into(partial, sums, 0, "delta_gates_backward");
  result.dlog_rate = sums.narrow(0, 0, heads);
  result.dbias = sums.narrow(0, heads, heads);
  return result;
}

}  // namespace

void add_delta_gates(kernels::OpTable& table) {
  table.delta_gates = gates_of;
  table.delta_gates_backward = gradients_of;
}

}  // namespace d9d::cuda
