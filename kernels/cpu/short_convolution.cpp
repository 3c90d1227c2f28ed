#include <ATen/ops/empty.h>

#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/loops/convolution_table.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/reduce.hpp"

namespace d9d::kernels::cpu {
namespace {

// A tensor [B, S, H, W] with a dense last dimension. Tokens are numbered over all sequences.
template <class T>
struct Channels {
  T* data;
  int64_t length, heads, width;
  int64_t strides[3];

  explicit Channels(const at::Tensor& x)
      : data(data_of<T>(x)),
        length(x.size(1)),
        heads(x.size(2)),
        width(x.size(3)),
        strides{x.stride(0), x.stride(1), x.stride(2)} {}

  // Returns the row of the token `away` positions from `token`, or null outside of its sequence.
  T* row(int64_t token, int64_t head, int64_t away = 0) const {
    const int64_t place = token % length + away;
    if (place < 0 || place >= length) return nullptr;
    return data + token / length * strides[0] + place * strides[1] + head * strides[2];
  }
};

// Returns the channels' rows of weight [C, 1, K] as [H, K, W] in sum_dtype. If `back`, the
// last tap comes first.
at::Tensor weights_by_tap(const at::Tensor& x, const at::Tensor& weight, int64_t first, bool back = false) {
  const at::Tensor rows = weight.narrow(0, first, x.size(2) * x.size(3));
  const at::Tensor taps = rows.reshape({x.size(2), x.size(3), weight.size(2)}).transpose(1, 2);
  return (back ? taps.flip(1) : taps).to(sum_dtype(weight.scalar_type())).contiguous();
}

// Calls f(token, head, rows) for tokens begin .. end. `rows` are those of `taps` tokens, of which the
// first is `away` positions from `token`.
template <class T, class F>
void for_windows(const Channels<T>& x, int64_t taps, int64_t away, int64_t begin, int64_t end, F&& f) {
  std::vector<const T*> rows(static_cast<std::size_t>(taps));
  for (int64_t token = begin; token < end; ++token) {
    for (int64_t head = 0; head < x.heads; ++head) {
      for (int64_t j = 0; j < taps; ++j) rows[static_cast<std::size_t>(j)] = x.row(token, head, away + j);
      f(token, head, rows.data());
    }
  }
}

at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight, int64_t first) {
  const int64_t taps = weight.size(2);
  const at::Tensor by_tap = weights_by_tap(x, weight, first);
  at::Tensor y = at::empty(x.sizes(), x.options().requires_grad(false));
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const Channels<T> in(x), out(y);
    const auto* const factors = data_of<Sum<T>>(by_tap);
    for_rows(x.size(0) * in.length, in.heads * in.width, [&](int64_t begin, int64_t end) {
      for_windows(in, taps, 1 - taps, begin, end, [&](int64_t token, int64_t head, const T* const* rows) {
        convolution_loops<T>().convolve(taps, in.width, rows, factors + head * taps * in.width,
                                        out.row(token, head));
      });
    });
  });
  return y;
}

struct Gradients {
  at::Tensor dx, dsum;
};

Gradients gradients_of(const at::Tensor& given, const at::Tensor& x, const at::Tensor& weight,
                       int64_t first) {
  const int64_t taps = weight.size(2);
  const at::Tensor dy = given.contiguous();
  const at::Tensor by_tap = weights_by_tap(x, weight, first),
                   from_last = weights_by_tap(x, weight, first, true);
  const auto options = x.options().requires_grad(false);
  Gradients result{at::empty(x.sizes(), options),
                   at::empty(x.sizes(), options.dtype(sum_dtype(x.scalar_type())))};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const Channels<T> in(x), grad(dy), out(result.dx);
    const Channels<S> sums(result.dsum);
    const int64_t tokens = x.size(0) * in.length, block = taps * in.width;
    for_rows(tokens, in.heads * in.width, [&](int64_t begin, int64_t end) {
      for_windows(in, taps, 1 - taps, begin, end, [&](int64_t token, int64_t head, const T* const* rows) {
        convolution_loops<T>().convolve_dsum(taps, in.width, rows, data_of<S>(by_tap) + head * block,
                                             grad.row(token, head), sums.row(token, head));
      });
    });
    for_rows(tokens, in.heads * in.width, [&](int64_t begin, int64_t end) {
      for_windows(sums, taps, 0, begin, end, [&](int64_t token, int64_t head, const S* const* rows) {
        convolution_loops<T>().convolve_dx(taps, in.width, rows, data_of<S>(from_last) + head * block,
                                           out.row(token, head));
      });
    });
  });
  return result;
}

// Adds to the channels' rows.
void add_dw(const at::Tensor& dsum, const at::Tensor& x, const at::Tensor& into, int64_t first) {
  const int64_t taps = into.size(2);
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const Channels<T> in(x);
    const Channels<S> grad(dsum);
    const int64_t block = taps * in.width;
    const at::Tensor total = reduce_rows<S>(
        x.size(0) * in.length, in.heads * block, dsum.options(), [&](int64_t begin, int64_t end, S* sums) {
          for_windows(in, taps, 1 - taps, begin, end, [&](int64_t token, int64_t head, const T* const* rows) {
            for (int64_t j = 0; j < taps; ++j) {
              if (rows[j] == nullptr) continue;
              convolution_loops<T>().convolve_dw(in.width, grad.row(token, head), rows[j],
                                                 sums + head * block + j * in.width);
            }
          });
        });
    into.narrow(0, first, in.heads * in.width)
        .add_(total.view({in.heads, taps, in.width}).transpose(1, 2).reshape({-1, 1, taps}));
  });
}

ConvolutionParts short_convolution(const ConvolutionInputs& in, const at::Tensor& weight) {
  ConvolutionParts y;
  for (std::size_t i = 0; i < in.x.size(); ++i) y.of.push_back(convolved(in.x[i], weight, in.first[i]));
  return y;
}

ConvolutionGradients short_convolution_dx(const ConvolutionParts& dy, const ConvolutionInputs& in,
                                          const at::Tensor& weight) {
  ConvolutionGradients result;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const Gradients of_part = gradients_of(dy.of[i], in.x[i], weight, in.first[i]);
    result.dx.push_back(of_part.dx);
    result.dsum.push_back(of_part.dsum);
  }
  return result;
}

void short_convolution_dw(const ConvolutionParts& dsum, const ConvolutionInputs& in, const at::Tensor& into,
                          double beta) {
  if (beta == 0) into.zero_();
  for (std::size_t i = 0; i < in.x.size(); ++i) add_dw(dsum.of[i], in.x[i], into, in.first[i]);
}

}  // namespace

void add_short_convolution(OpTable& table) {
  table.short_convolution = short_convolution;
  table.short_convolution_dx = short_convolution_dx;
  table.short_convolution_dw = short_convolution_dw;
}

}  // namespace d9d::kernels::cpu
