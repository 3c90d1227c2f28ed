#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/cpu/delta_heads.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// The inputs in sum_dtype, contiguous.
struct DeltaTensors {
  at::Tensor q, k, v, decay, beta;

  template <class S>
  DeltaOperands<S> as() const {
    return {data_of<S>(q), data_of<S>(k), data_of<S>(v), data_of<S>(decay), data_of<S>(beta)};
  }
};

DeltaTensors wide(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                  const at::Tensor& beta) {
  const auto sums = sum_dtype(v.scalar_type());
  return {q.to(sums).contiguous(), k.to(sums).contiguous(), v.to(sums).contiguous(), decay.contiguous(),
          beta.contiguous()};
}

// Calls f(S{}) with S float or double.
template <class F>
void for_sums(const at::Tensor& x, F&& f) {
  x.scalar_type() == at::kDouble ? f(double{}) : f(float{});
}

at::Tensor delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                      const at::Tensor& beta, const DeltaRuleOptions& options) {
  const DeltaTensors in = wide(q, k, v, decay, beta);
  const DeltaSizes sizes(q, v, options);
  const at::Tensor out = at::empty(v.sizes(), in.v.options().requires_grad(false));
  for_sums(in.v, [&](auto tag) {
    using S = decltype(tag);
    const DeltaOperands<S> operands = in.as<S>();
    at::parallel_for(0, q.size(0) * sizes.key_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        DeltaHeads<S>(sizes, operands, task).forward(data_of<S>(out));
    });
  });
  return out.to(v.scalar_type());
}

DeltaRuleGradients delta_rule_backward(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const at::Tensor& decay, const at::Tensor& beta,
                                       const DeltaRuleOptions& options) {
  const DeltaTensors in = wide(q, k, v, decay, beta);
  const at::Tensor dout = grad.to(in.v.scalar_type()).contiguous();
  const DeltaSizes sizes(q, v, options);
  const DeltaTensors into{at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v),
                          at::empty_like(in.decay), at::empty_like(in.beta)};
  for_sums(in.v, [&](auto tag) {
    using S = decltype(tag);
    const DeltaOperands<S> operands = in.as<S>(), results = into.as<S>();
    at::parallel_for(0, q.size(0) * sizes.key_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        DeltaHeads<S>(sizes, operands, task).backward(data_of<S>(dout), results);
    });
  });
  const auto dtype = v.scalar_type();
  return {into.q.to(dtype), into.k.to(dtype), into.v.to(dtype), into.decay, into.beta};
}

}  // namespace

void add_delta_rule(OpTable& table) {
  table.delta_rule = delta_rule;
  table.delta_rule_backward = delta_rule_backward;
}

}  // namespace d9d::kernels::cpu
