#include <ATen/ops/empty.h>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"

namespace d9d::kernels::cpu {
namespace {

Normed rms_norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps,
                double offset) {
  const at::Tensor in = as_rows(x), other = residual.defined() ? as_rows(residual) : residual;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  const auto options = x.options().requires_grad(false);
  Normed result{at::empty(x.sizes(), options),
                residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                at::empty({rows}, options.dtype(sum_dtype(x.scalar_type())))};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      T* sum = data_of<T>(result.sum);
      loop_table<T>().rms_norm(end - begin, width, rows_of<T>(in, begin), rows_of<T>(other, begin),
                               data_of<T>(scale), static_cast<S>(eps), static_cast<S>(offset),
                               sum ? sum + begin * width : nullptr, data_of<T>(result.normed) + begin * width,
                               data_of<S>(result.inverse) + begin);
    });
  });
  return result;
}

NormGradients rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                double offset, const at::Tensor& inverse, const at::Tensor& extra,
                                bool with_dweight) {
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = extra.defined() ? as_rows(extra) : extra;
  const at::Tensor scale = weight.contiguous();
  const int64_t width = in.size(1);
  NormGradients result{at::empty(x.sizes(), x.options().requires_grad(false)), {}};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(in.size(0), width, [&](int64_t begin, int64_t end) {
      loop_table<T>().rms_norm_dx(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                  data_of<T>(scale), static_cast<S>(offset), data_of<S>(inverse) + begin,
                                  rows_of<T>(more, begin), data_of<T>(result.dx) + begin * width);
    });
    if (!with_dweight) return;
    result.dweight =
        reduce_rows<S>(in.size(0), width, inverse.options(), [&](int64_t begin, int64_t end, S* dw) {
          loop_table<T>().rms_norm_dw(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                      data_of<S>(inverse) + begin, dw);
        });
  });
  return result;
}

Normed layer_norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps) {
  const at::Tensor in = as_rows(x), other = residual.defined() ? as_rows(residual) : residual;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  const auto options = x.options().requires_grad(false);
  Normed result{at::empty(x.sizes(), options),
                residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                at::empty({2, rows}, options.dtype(sum_dtype(x.scalar_type())))};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      T* sum = data_of<T>(result.sum);
      S* inverse = data_of<S>(result.inverse);
      loop_table<T>().layer_norm(end - begin, width, rows_of<T>(in, begin), rows_of<T>(other, begin),
                                 data_of<T>(scale), static_cast<S>(eps), sum ? sum + begin * width : nullptr,
                                 data_of<T>(result.normed) + begin * width, inverse + begin,
                                 inverse + rows + begin);
    });
  });
  return result;
}

NormGradients layer_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& inverse, const at::Tensor& extra, bool with_dweight) {
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = extra.defined() ? as_rows(extra) : extra;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  NormGradients result{at::empty(x.sizes(), x.options().requires_grad(false)), {}};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const S* const inverses = data_of<S>(inverse);
    const S* const means = inverses + rows;
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      loop_table<T>().layer_norm_dx(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                    data_of<T>(scale), inverses + begin, means + begin,
                                    rows_of<T>(more, begin), data_of<T>(result.dx) + begin * width);
    });
    if (!with_dweight) return;
    result.dweight = reduce_rows<S>(rows, width, inverse.options(), [&](int64_t begin, int64_t end, S* dw) {
      loop_table<T>().layer_norm_dw(end - begin, width, rows_of<T>(grad, begin), rows_of<T>(in, begin),
                                    inverses + begin, means + begin, dw);
    });
  });
  return result;
}

}  // namespace

void add_norm(OpTable& table) {
  table.rms_norm = rms_norm;
  table.rms_norm_backward = rms_norm_backward;
  table.layer_norm = layer_norm;
  table.layer_norm_backward = layer_norm_backward;
}

}  // namespace d9d::kernels::cpu
