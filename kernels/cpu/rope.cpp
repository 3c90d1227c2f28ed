#include <ATen/ops/empty.h>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels::cpu {
namespace {

template <class T>
HeadsShape<T> shape_of(const at::Tensor& heads, const at::Tensor& weight, const at::Tensor& cos,
                       RopeStyle style, double eps, double offset) {
  return {heads.size(2),
          heads.size(3),
          cos.size(-1),
          style == RopeStyle::interleaved,
          weight.defined() ? static_cast<const T*>(weight.const_data_ptr()) : nullptr,
          static_cast<Sum<T>>(eps),
          static_cast<Sum<T>>(offset)};
}

// Returns x or a copy.
at::Tensor dense_heads(const at::Tensor& x) {
  return has_dense_heads(x) ? x : x.contiguous();
}

// Calls f(begin, end, angle_row) for runs of tokens whose angles are in consecutive rows of the table.
template <class F>
void for_tokens(const at::Tensor& x, const at::Tensor& cos, int64_t begin, int64_t end, F&& f) {
  const int64_t length = x.size(1);
  const bool repeated = cos.dim() == 2;
  while (begin < end) {
    const int64_t stop = repeated ? std::min(end, (begin / length + 1) * length) : end;
    f(begin, stop, repeated ? begin % length : begin);
    begin = stop;
  }
}

template <class T>
struct Pointers {
  Rows<const T> x;
  Rows<const Sum<T>> cos, sin;
};

template <class T>
Pointers<T> pointers_at(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t token,
                        int64_t angle) {
  const int64_t rotary = cos.size(-1);
  return {{static_cast<const T*>(x.const_data_ptr()) + token * x.stride(1), x.stride(1)},
          {static_cast<const Sum<T>*>(cos.const_data_ptr()) + angle * rotary, rotary},
          {static_cast<const Sum<T>*>(sin.const_data_ptr()) + angle * rotary, rotary}};
}

RotatedHeads rope(const at::Tensor& input, const at::Tensor& head_weight, double eps, double offset,
                  const RopeAngles& angles, RopeStyle style) {
  const at::Tensor x = dense_heads(input);
  const at::Tensor weight = head_weight.defined() ? head_weight.contiguous() : head_weight;
  const auto options = x.options().requires_grad(false);
  at::Tensor y = at::empty(x.sizes(), options), inverse;
  if (weight.defined()) {
    inverse = at::empty({x.size(0), x.size(1), x.size(2)}, options.dtype(sum_dtype(x.scalar_type())));
  }
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const auto shape = shape_of<T>(x, weight, angles.cos, style, eps, offset);
    for_rows(x.size(0) * x.size(1), shape.heads * shape.dim, [&](int64_t first, int64_t last) {
      for_tokens(x, angles.cos, first, last, [&](int64_t begin, int64_t end, int64_t angle) {
        const auto at = pointers_at<T>(x, angles.cos, angles.sin, begin, angle);
        Sum<T>* kept = data_of<Sum<T>>(inverse);
        loop_table<T>().heads(end - begin, shape, at.x, at.cos, at.sin,
                              data_of<T>(y) + begin * shape.heads * shape.dim,
                              kept ? kept + begin * shape.heads : nullptr);
      });
    });
  });
  return {y, inverse};
}

// Always computes the weight's gradient, too, because it costs little beside dx.
at::Tensor rope_backward(const at::Tensor& dx, const at::Tensor& grad, const at::Tensor& input,
                         const at::Tensor& head_weight, double offset, const at::Tensor& inverse,
                         const RopeAngles& angles, RopeStyle style) {
  const at::Tensor weight = head_weight.defined() ? head_weight.contiguous() : head_weight;
  const at::Tensor dy = dense_heads(grad), x = weight.defined() ? dense_heads(input) : dy;
  at::Tensor dweight;
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const auto shape = shape_of<T>(x, weight, angles.cos, style, /*eps=*/0, offset);
    const auto options = x.options().dtype(sum_dtype(x.scalar_type())).requires_grad(false);
    const auto run = [&](int64_t first, int64_t last, S* dw) {
      for_tokens(x, angles.cos, first, last, [&](int64_t begin, int64_t end, int64_t angle) {
        const auto at = pointers_at<T>(x, angles.cos, angles.sin, begin, angle);
        const auto at_dy = pointers_at<T>(dy, angles.cos, angles.sin, begin, angle);
        const S* kept = inverse.defined() ? static_cast<const S*>(inverse.const_data_ptr()) : nullptr;
        loop_table<T>().heads_backward(end - begin, shape, at_dy.x, at.x, at.cos, at.sin,
                                       kept ? kept + begin * shape.heads : nullptr,
                                       {data_of<T>(dx) + begin * dx.stride(1), dx.stride(1)}, dw);
      });
    };
    const int64_t tokens = x.size(0) * x.size(1);
    if (weight.defined()) {
      dweight = reduce_rows<S>(tokens, shape.dim, options, run);
    } else {
      for_rows(tokens, shape.heads * shape.dim,
               [&](int64_t begin, int64_t end) { run(begin, end, static_cast<S*>(nullptr)); });
    }
  });
  return dweight;
}

}  // namespace

void add_rope(OpTable& table) {
  table.rope = rope;
  table.rope_backward = rope_backward;
}

}  // namespace d9d::kernels::cpu
