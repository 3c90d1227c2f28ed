#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"

namespace d9d::kernels::cpu {
namespace {

// The inputs in sum_dtype. torch converts bf16 before the loops, because these numbers are few.
struct DecayInputs {
  at::Tensor a, log_rate, bias;  // contiguous in sum_dtype

  DecayInputs(const at::Tensor& all, const at::Tensor& rate, const at::Tensor& shift) {
    const auto dtype = sum_dtype(all.scalar_type());
    const auto wide = [dtype](const at::Tensor& x) { return x.to(dtype).contiguous(); };
    a = wide(all);
    log_rate = wide(rate);
    bias = wide(shift);
  }
  int64_t heads() const { return log_rate.size(0); }
  int64_t rows() const { return heads() == 0 ? 0 : a.numel() / heads(); }
};

template <class S>
S softplus(S x) {
  return std::max(x, S(0)) + std::log1p(std::exp(-std::abs(x)));
}

at::Tensor decay_gate(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias) {
  const DecayInputs in(a, log_rate, bias);
  at::Tensor decay = at::empty(a.sizes(), in.a.options().requires_grad(false));
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

DecayGradients decay_gate_backward(const at::Tensor& given, const at::Tensor& a, const at::Tensor& log_rate,
                                   const at::Tensor& bias) {
  const DecayInputs in(a, log_rate, bias);
  const at::Tensor grad = given.contiguous();
  const at::Tensor da = at::empty_like(in.a);
  DecayGradients result;
  dispatch(in.a.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const at::Tensor sums = reduce_rows<S>(
        in.rows(), 2 * in.heads(), in.a.options(), [&](int64_t begin, int64_t end, S* partial) {
          add_gradients<S>(in, data_of<S>(grad), begin, end, data_of<S>(da), partial);
        });
    result.dlog_rate = sums.narrow(0, 0, in.heads());
    result.dbias = sums.narrow(0, in.heads(), in.heads());
  });
  result.da = da.to(a.scalar_type());
  return result;
}

}  // namespace

void add_decay_gate(OpTable& table) {
  table.decay_gate = decay_gate;
  table.decay_gate_backward = decay_gate_backward;
}

}  // namespace d9d::kernels::cpu
