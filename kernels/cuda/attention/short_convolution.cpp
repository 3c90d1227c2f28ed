#include "kernels/cuda/attention/short_convolution.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/column_sums_into.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

Channels channels_of(const at::Tensor& x) {
  return {x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

// The channels' rows of weight [C, 1, K] as [H, K, W] in fp32.
at::Tensor weight_by_tap(const at::Tensor& x, const at::Tensor& weight, int64_t first) {
  const at::Tensor rows = weight.narrow(0, first, x.size(2) * x.size(3));
  return rows.reshape({x.size(2), x.size(3), weight.size(2)}).transpose(1, 2).to(at::kFloat).contiguous();
}

ShortConvolution call_of(const at::Tensor& x, const at::Tensor& by_tap) {
  return {.type = type_of(x),
          .sequences = x.size(0),
          .length = x.size(1),
          .heads = x.size(2),
          .width = x.size(3),
          .taps = static_cast<int>(by_tap.size(1)),
          .x = channels_of(x),
          .weight = by_tap.const_data_ptr<float>()};
}

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, int64_t first) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor by_tap = weight_by_tap(x, weight, first);
  at::Tensor y = at::empty(x.sizes(), x.options().requires_grad(false));
  ShortConvolution call = call_of(x, by_tap);
  call.y = data_of(y);
  check_launch(short_convolution(call, stream_of(x)), "short_convolution");
  return y;
}

kernels::ConvolutionGradient convolve_dx(const at::Tensor& given, const at::Tensor& x,
                                         const at::Tensor& weight, int64_t first) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor by_tap = weight_by_tap(x, weight, first), dy = given.contiguous();
  const auto options = x.options().requires_grad(false);
  kernels::ConvolutionGradient result{at::empty(x.sizes(), options),
                                      at::empty(x.sizes(), options.dtype(at::kFloat))};
  ShortConvolution call = call_of(x, by_tap);
  call.dy = dy.const_data_ptr();
  call.dsum = data_of<float>(result.dsum);
  call.dx = data_of(result.dx);
  check_launch(short_convolution_dsum(call, stream_of(x)), "short_convolution_dx");
  check_launch(short_convolution_dx(call, stream_of(x)), "short_convolution_dx");
  return result;
}

void convolve_dw(const at::Tensor& dsum, const at::Tensor& x, const at::Tensor& into, int64_t first,
                 double beta) {
  const c10::DeviceGuard guard(x.device());
  const int64_t heads = x.size(2), width = x.size(3), taps = into.size(2);
  const auto options = x.options().requires_grad(false).dtype(at::kFloat);
  const at::Tensor partial =
      at::empty({short_convolution_slabs(x.size(0) * x.size(1)), heads * taps * width}, options);
  check_launch(short_convolution_dw({.type = type_of(x),
                                     .sequences = x.size(0),
                                     .length = x.size(1),
                                     .heads = heads,
                                     .width = width,
                                     .taps = static_cast<int>(taps),
                                     .x = channels_of(x),
                                     .dsum = dsum.const_data_ptr<float>(),
                                     .partial = data_of<float>(partial)},
                                    stream_of(x)),
               "short_convolution_dw");
  const at::Tensor total = at::empty({heads * taps * width}, options);
  column_sums_into(partial, total, 0, "short_convolution_dw");
  if (beta == 0) into.zero_();
  into.narrow(0, first, heads * width)
      .add_(total.view({heads, taps, width}).transpose(1, 2).reshape({-1, 1, taps}));
}

}  // namespace

void add_short_convolution(kernels::OpTable& table) {
  table.short_convolution = convolve;
  table.short_convolution_dx = convolve_dx;
  table.short_convolution_dw = convolve_dw;
}

}  // namespace d9d::cuda
