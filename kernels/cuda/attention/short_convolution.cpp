#include "kernels/cuda/attention/short_convolution.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/column_sums_into.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

using kernels::ConvolutionInputs;
using kernels::ConvolutionParts;

static_assert(kernels::convolved_max == convolved_parts_max);

// `weight` is contiguous; the call lasts as long as it does.
ShortConvolution call_of(const ConvolutionInputs& in, const at::Tensor& weight) {
  const at::Tensor& like = in.x[0];
  ShortConvolution call{.type = type_of(like),
                        .sequences = like.size(0),
                        .length = like.size(1),
                        .heads = like.size(2),
                        .taps = static_cast<int>(weight.size(2))};
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const at::Tensor& x = in.x[i];
    call.part[i] = {.width = x.size(3),
                    .x = x.const_data_ptr(),
                    .sequence_stride = x.stride(0),
                    .token_stride = x.stride(1),
                    .head_stride = x.stride(2),
                    .weight = weight.narrow(0, in.first[i], x.size(2) * x.size(3)).const_data_ptr()};
  }
  return call;
}

ConvolutionParts convolve(const ConvolutionInputs& in, const at::Tensor& given) {
  const c10::DeviceGuard guard(given.device());
  const at::Tensor weight = given.contiguous();
  ShortConvolution call = call_of(in, weight);
  ConvolutionParts y;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    y.of.push_back(at::empty(in.x[i].sizes(), in.x[i].options().requires_grad(false)));
    call.part[i].y = data_of(y.of[i]);
  }
  check_launch(short_convolution(call, stream_of(weight)), "short_convolution");
  return y;
}

kernels::ConvolutionGradients convolve_dx(const ConvolutionParts& given, const ConvolutionInputs& in,
                                          const at::Tensor& given_weight) {
  const c10::DeviceGuard guard(given_weight.device());
  const at::Tensor weight = given_weight.contiguous();
  ShortConvolution call = call_of(in, weight);
  kernels::ConvolutionGradients result;
  std::vector<at::Tensor> dense;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const at::Tensor& x = in.x[i];
    const auto options = x.options().requires_grad(false);
    dense.push_back(given.of[i].contiguous());
    result.dx.push_back(at::empty(x.sizes(), options));
    result.dsum.push_back(at::empty(x.sizes(), options.dtype(at::kFloat)));
    call.part[i].dy = dense[i].const_data_ptr();
    call.part[i].dsum = data_of<float>(result.dsum[i]);
    call.part[i].dx = data_of(result.dx[i]);
  }
  check_launch(short_convolution_dsum(call, stream_of(weight)), "short_convolution_dx");
  check_launch(short_convolution_dx(call, stream_of(weight)), "short_convolution_dx");
  return result;
}

// Whether the rows of the inputs' channels follow each other.
bool are_neighbours(const ConvolutionInputs& in) {
  int64_t next = in.first[0];
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    if (in.first[i] != next) return false;
    next += in.x[i].size(2) * in.x[i].size(3);
  }
  return true;
}

void convolve_dw(const ConvolutionParts& dsum, const ConvolutionInputs& in, const at::Tensor& into,
                 double beta) {
  const c10::DeviceGuard guard(into.device());
  const int64_t taps = into.size(2), tokens = in.x[0].size(0) * in.x[0].size(1);
  // The weight's values do not count.
  ShortConvolution call = call_of(in, into);
  int64_t rows = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    rows += in.x[i].size(2) * in.x[i].size(3);
    call.part[i].weight = nullptr;
    call.part[i].dsum = data_of<float>(dsum.of[i]);
  }
  const auto options = into.options().requires_grad(false).dtype(at::kFloat);
  const at::Tensor partial = at::empty({short_convolution_slabs(tokens), rows * taps}, options);
  check_launch(short_convolution_dw(call, data_of<float>(partial), stream_of(into)), "short_convolution_dw");
  if (beta == 0 && rows < into.size(0)) into.zero_();
  if (are_neighbours(in) && into.is_contiguous()) {
    column_sums_into(partial, into.narrow(0, in.first[0], rows).view({rows * taps}), beta,
                     "short_convolution_dw");
    return;
  }
  const at::Tensor total = at::empty({rows * taps}, options);
  column_sums_into(partial, total, 0, "short_convolution_dw");
  int64_t row = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const int64_t count = in.x[i].size(2) * in.x[i].size(3);
    const at::Tensor to = into.narrow(0, in.first[i], count),
                     sums = total.narrow(0, row * taps, count * taps).view({count, 1, taps});
    beta == 0 ? to.copy_(sums) : to.add_(sums);
    row += count;
  }
}

}  // namespace

void add_short_convolution(kernels::OpTable& table) {
  table.short_convolution = convolve;
  table.short_convolution_dx = convolve_dx;
  table.short_convolution_dw = convolve_dw;
}

}  // namespace d9d::cuda
