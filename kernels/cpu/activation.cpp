#include <ATen/ops/empty.h>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// `Loops` is one activation: Loops::of(table) and Loops::backward_of(table) return its loops.
struct SiluLoops {
  template <class T>
  static auto of(const LoopTable<T>& table) {
    return table.silu_mul;
  }
  template <class T>
  static auto backward_of(const LoopTable<T>& table) {
    return table.silu_mul_backward;
  }
};
struct GeluLoops {
  template <class T>
  static auto of(const LoopTable<T>& table) {
    return table.gelu_mul;
  }
  template <class T>
  static auto backward_of(const LoopTable<T>& table) {
    return table.gelu_mul_backward;
  }
};
struct GeluErfLoops {
  template <class T>
  static auto of(const LoopTable<T>& table) {
    return table.gelu_erf_mul;
  }
  template <class T>
  static auto backward_of(const LoopTable<T>& table) {
    return table.gelu_erf_mul_backward;
  }
};

template <class Loops>
at::Tensor gated_mul(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor g = as_rows(gate), u = as_rows(up);
  const int64_t width = g.size(1);
  at::Tensor result = at::empty(gate.sizes(), gate.options().requires_grad(false));
  const at::Tensor out = result.view({-1, width});
  dispatch(gate.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    for_rows(g.size(0), width, [&](int64_t begin, int64_t end) {
      Loops::of(loop_table<T>())(end - begin, width, rows_of<T>(g, begin), rows_of<T>(u, begin),
                                 mutable_rows_of<T>(out, begin));
    });
  });
  return result;
}

template <class Loops>
SiluMulGradients gated_mul_backward(const at::Tensor& dout, const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor d = as_rows(dout), g = as_rows(gate), u = as_rows(up);
  const int64_t width = g.size(1);
  const auto options = gate.options().requires_grad(false);
  SiluMulGradients result{at::empty(gate.sizes(), options), at::empty(gate.sizes(), options)};
  const at::Tensor dg = result.dgate.view({-1, width}), du = result.dup.view({-1, width});
  dispatch(gate.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    for_rows(g.size(0), width, [&](int64_t begin, int64_t end) {
      Loops::backward_of(loop_table<T>())(end - begin, width, rows_of<T>(d, begin), rows_of<T>(g, begin),
                                          rows_of<T>(u, begin), mutable_rows_of<T>(dg, begin),
                                          mutable_rows_of<T>(du, begin));
    });
  });
  return result;
}

}  // namespace

void add_activation(OpTable& table) {
  table.silu_mul = gated_mul<SiluLoops>;
  table.silu_mul_backward = gated_mul_backward<SiluLoops>;
  table.gelu_mul = gated_mul<GeluLoops>;
  table.gelu_mul_backward = gated_mul_backward<GeluLoops>;
  table.gelu_erf_mul = gated_mul<GeluErfLoops>;
  table.gelu_erf_mul_backward = gated_mul_backward<GeluErfLoops>;
}

}  // namespace d9d::kernels::cpu
