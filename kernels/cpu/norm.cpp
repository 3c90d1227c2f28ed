#include <ATen/ops/empty.h>

#include <optional>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"

namespace d9d::kernels::cpu {
namespace {

// RMS norms have an offset of their weight, layer norms have none; the means of those lie after the inverses.
using Offset = std::optional<double>;

Normed norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, double eps,
            Offset offset) {
  const at::Tensor in = as_rows(x), other = residual.defined() ? as_rows(residual) : residual;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  const auto options = x.options().requires_grad(false), sums = options.dtype(sum_dtype(x.scalar_type()));
  Normed result{at::empty(x.sizes(), options),
                residual.defined() ? at::empty(x.sizes(), options) : at::Tensor(),
                offset ? at::empty({rows}, sums) : at::empty({2, rows}, sums)};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      T* const normed = data_of<T>(result.normed) + begin * width;
      T* sum = data_of<T>(result.sum);
      if (sum) sum += begin * width;
      S* const inverse = data_of<S>(result.inverse) + begin;
      const auto x_rows = rows_of<T>(in, begin), more = rows_of<T>(other, begin);
      if (offset)
        loop_table<T>().rms_norm(end - begin, width, x_rows, more, data_of<T>(scale), static_cast<S>(eps),
                                 static_cast<S>(*offset), sum, normed, inverse);
      else
        loop_table<T>().layer_norm(end - begin, width, x_rows, more, data_of<T>(scale), static_cast<S>(eps),
                                   sum, normed, inverse, inverse + rows);
    });
  });
  return result;
}

NormGradients norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                            Offset offset, const at::Tensor& inverse, const at::Tensor& extra,
                            bool with_dweight) {
  const at::Tensor grad = as_rows(dy), in = as_rows(x), more = extra.defined() ? as_rows(extra) : extra;
  const at::Tensor scale = weight.contiguous();
  const int64_t rows = in.size(0), width = in.size(1);
  NormGradients result{at::empty(x.sizes(), x.options().requires_grad(false)), {}};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const auto& loops = loop_table<T>();
    const S* const inverses = data_of<S>(inverse);
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      const auto dy_rows = rows_of<T>(grad, begin), x_rows = rows_of<T>(in, begin),
                 extra_rows = rows_of<T>(more, begin);
      T* const dx = data_of<T>(result.dx) + begin * width;
      const S* const here = inverses + begin;
      if (offset)
        loops.rms_norm_dx(end - begin, width, dy_rows, x_rows, data_of<T>(scale), static_cast<S>(*offset),
                          here, extra_rows, dx);
      else
        loops.layer_norm_dx(end - begin, width, dy_rows, x_rows, data_of<T>(scale), here, here + rows,
                            extra_rows, dx);
    });
    if (!with_dweight) return;
    result.dweight = reduce_rows<S>(rows, width, inverse.options(), [&](int64_t begin, int64_t end, S* dw) {
      const auto dy_rows = rows_of<T>(grad, begin), x_rows = rows_of<T>(in, begin);
      const S* const here = inverses + begin;
      if (offset)
        loops.rms_norm_dw(end - begin, width, dy_rows, x_rows, here, dw);
      else
        loops.layer_norm_dw(end - begin, width, dy_rows, x_rows, here, here + rows, dw);
    });
  });
  return result;
}

}  // namespace

void add_norm(OpTable& table) {
  using at::Tensor;
  table.rms_norm = [](const Tensor& x, const Tensor& residual, const Tensor& weight, double eps,
                      double offset) { return norm(x, residual, weight, eps, offset); };
  table.rms_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& weight, double offset,
                               const Tensor& inverse, const Tensor& extra, bool with_dweight) {
    return norm_backward(dy, x, weight, offset, inverse, extra, with_dweight);
  };
  table.layer_norm = [](const Tensor& x, const Tensor& residual, const Tensor& weight, double eps) {
    return norm(x, residual, weight, eps, {});
  };
  table.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& weight,
                                 const Tensor& inverse, const Tensor& extra, bool with_dweight) {
    return norm_backward(dy, x, weight, {}, inverse, extra, with_dweight);
  };
}

}  // namespace d9d::kernels::cpu
