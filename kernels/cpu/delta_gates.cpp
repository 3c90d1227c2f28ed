#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"

namespace d9d::kernels::cpu {
namespace {

// What the decay comes from, in sum_dtype. torch converts bf16 before the loops, because these numbers are few.
// logsigmoid(a) = -softplus(-a): the decay of -a with parameters that are zero.
struct DecayInputs {
  at::Tensor a, log_rate, bias;  // contiguous in sum_dtype

  DecayInputs(const at::Tensor& gates, const at::Tensor& rate, const at::Tensor& shift) {
    const auto dtype = sum_dtype(gates.scalar_type());
    const auto wide = [dtype](const at::Tensor& x) { return x.to(dtype).contiguous(); };
    const at::Tensor part = half(gates, 1);
    a = wide(rate.defined() ? part : at::neg(part));
    const at::Tensor none =
        rate.defined() ? at::Tensor() : at::zeros({a.size(-1)}, a.options().requires_grad(false));
    log_rate = rate.defined() ? wide(rate) : none;
    bias = shift.defined() ? wide(shift) : none;
  }
  // Half 0 or 1 of gates [.., Hk, 2 g] -> [.., Hk g].
  static at::Tensor half(const at::Tensor& gates, int64_t index) {
    const int64_t group = gates.size(-1) / 2;
    return gates.narrow(-1, index * group, group).flatten(-2);
  }
  int64_t heads() const { return log_rate.size(0); }
  int64_t rows() const { return heads() == 0 ? 0 : a.numel() / heads(); }
};

template <class S>
S softplus(S x) {
  return std::max(x, S(0)) + std::log1p(std::exp(-std::abs(x)));
}

at::Tensor decay_of(const DecayInputs& in) {
  at::Tensor decay = at::empty(in.a.sizes(), in.a.options().requires_grad(false));
  dispatch(in.a.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const S *from = data_of<S>(in.a), *rate = data_of<S>(in.log_rate), *shift = data_of<S>(in.bias);
    S* to = data_of<S>(decay);
    for_rows(in.rows(), in.heads(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * in.heads(); i < end * in.heads(); ++i) {
        const int64_t head = i % in.heads();
        to[i] = -std::exp(rate[head]) * softplus(from[i] + shift[head]);
      }
    });
  });
  return decay;
}

// sums [2, H]: the gradients of log_rate and of bias.
template <class S>
void add_gradients(const DecayInputs& in, const S* grad, int64_t begin, int64_t end, S* da, S* sums) {
  const S *from = data_of<S>(in.a), *rate = data_of<S>(in.log_rate), *shift = data_of<S>(in.bias);
  const int64_t heads = in.heads();
  for (int64_t i = begin * heads; i < end * heads; ++i) {
    const int64_t head = i % heads;
    const S x = from[i] + shift[head], scale = -std::exp(rate[head]);
    da[i] = grad[i] * scale / (S(1) + std::exp(-x));
    sums[head] += grad[i] * scale * softplus(x);
    sums[heads + head] += da[i];
  }
}

DeltaGates delta_gates(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias,
                       double normalizer) {
  const DecayInputs in(gates, log_rate, bias);
  const at::Tensor decay = decay_of(in), b = DecayInputs::half(gates, 0).to(decay.scalar_type());
  return {log_rate.defined() ? decay : at::div(decay, normalizer), at::sigmoid(b)};
}

DeltaGateGradients delta_gates_backward(const at::Tensor& ddecay, const at::Tensor& dbeta,
                                        const at::Tensor& gates, const at::Tensor& beta,
                                        const at::Tensor& log_rate, const at::Tensor& bias,
                                        double normalizer) {
  const DecayInputs in(gates, log_rate, bias);
  const at::Tensor grad = (log_rate.defined() ? ddecay : at::div(ddecay, normalizer)).contiguous();
  at::Tensor da = at::empty_like(in.a);
  DeltaGateGradients result;
  dispatch(in.a.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const at::Tensor sums = reduce_rows<S>(
        in.rows(), 2 * in.heads(), in.a.options(), [&](int64_t begin, int64_t end, S* partial) {
          add_gradients<S>(in, data_of<S>(grad), begin, end, data_of<S>(da), partial);
        });
    if (!log_rate.defined()) return;
    result.dlog_rate = sums.narrow(0, 0, in.heads());
    result.dbias = sums.narrow(0, in.heads(), in.heads());
  });
  if (!log_rate.defined()) da = at::neg(da);
  const auto part = [&](const at::Tensor& x) {
    return x.to(gates.scalar_type()).unflatten(-1, {gates.size(-2), gates.size(-1) / 2});
  };
  result.dgates = at::cat({part(at::sigmoid_backward(dbeta, beta)), part(da)}, -1);
  return result;
}

}  // namespace

void add_delta_gates(OpTable& table) {
  table.delta_gates = delta_gates;
  table.delta_gates_backward = delta_gates_backward;
}

}  // namespace d9d::kernels::cpu
