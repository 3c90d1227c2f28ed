#include "kernels/cuda/attention/rope.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/column_sums_into.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

at::Tensor dense_heads(const at::Tensor& x) {
  return kernels::has_dense_heads(x) ? x : x.contiguous();
}

ConstRows tokens_of(const at::Tensor& heads) {
  return {heads.const_data_ptr(), heads.stride(1)};
}

RopeHeads shape_of(const at::Tensor& x, const at::Tensor& weight, double offset,
                   const kernels::RopeAngles& angles, kernels::RopeStyle style) {
  return {.type = type_of(x),
          .tokens = x.size(0) * x.size(1),
          .heads = x.size(2),
          .dim = static_cast<int>(x.size(3)),
          .rotary = static_cast<int>(angles.cos.size(-1)),
          .interleaved = style == kernels::RopeStyle::interleaved,
          .angle_rows = angles.cos.dim() == 2 ? x.size(1) : x.size(0) * x.size(1),
          .cos = angles.cos.const_data_ptr<float>(),
          .sin = angles.sin.const_data_ptr<float>(),
          .weight = weight.defined() ? weight.const_data_ptr() : nullptr,
          .offset = static_cast<float>(offset)};
}

kernels::RotatedHeads rotated(const at::Tensor& input, const at::Tensor& head_weight, double eps,
                              double offset, const kernels::RopeAngles& angles, kernels::RopeStyle style) {
  const c10::DeviceGuard guard(input.device());
  const at::Tensor x = dense_heads(input), weight = maybe_contiguous(head_weight);
  const auto options = x.options().requires_grad(false);
  at::Tensor y = at::empty(x.sizes(), options), inverse;
  if (weight.defined()) inverse = at::empty({x.size(0), x.size(1), x.size(2)}, options.dtype(at::kFloat));
  check_launch(rope({.shape = shape_of(x, weight, offset, angles, style),
                     .x = tokens_of(x),
                     .eps = static_cast<float>(eps),
                     .y = data_of(y),
                     .y_stride = x.size(2) * x.size(3),
                     .inverse = data_of<float>(inverse)},
                    stream_of(x)),
               "rope");
  return {y, inverse};
}

at::Tensor rotated_backward(const at::Tensor& dx, const at::Tensor& grad, const at::Tensor& input,
                            const at::Tensor& head_weight, double offset, const at::Tensor& inverse,
                            const kernels::RopeAngles& angles, kernels::RopeStyle style) {
  const c10::DeviceGuard guard(grad.device());
  const at::Tensor weight = maybe_contiguous(head_weight), dy = dense_heads(grad);
  const at::Tensor x = weight.defined() ? dense_heads(input) : dy;
  const RopeHeads shape = shape_of(x, weight, offset, angles, style);
  at::Tensor partial, dweight;
  if (weight.defined()) {
    partial = at::empty({rope_slabs(shape), x.size(3)}, x.options().requires_grad(false).dtype(at::kFloat));
    dweight = at::empty({x.size(3)}, partial.options());
  }
  check_launch(rope_backward({.shape = shape,
                              .dy = tokens_of(dy),
                              .x = tokens_of(x),
                              .inverse = data_of<float>(inverse),
                              .dx = data_of(dx),
                              .dx_stride = dx.stride(1),
                              .partial = data_of<float>(partial)},
                             stream_of(x)),
               "rope_backward");
  if (weight.defined()) column_sums_into(partial, dweight, 0, "rope_backward");
  return dweight;
}

}  // namespace

void add_rope(kernels::OpTable& table) {
  table.rope = rotated;
  table.rope_backward = rotated_backward;
}

}  // namespace d9d::cuda
