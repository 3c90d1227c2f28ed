#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

ValidTokens valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size) {
  const auto* label = data_of<int64_t>(labels);
  ValidTokens valid{at::empty({labels.size(0)}, labels.options()),
                    at::empty({labels.size(0)}, labels.options())};
  int64_t count = 0;
  for (int64_t t = 0; t < labels.size(0); ++t) {
    if (label[t] == ignore_index) continue;
    TORCH_CHECK_INDEX(label[t] >= 0 && label[t] < vocab_size, "linear_cross_entropy: label ", label[t],
                      " at token ", t, " is outside [0, ", vocab_size, ")");
    data_of<int64_t>(valid.index)[count] = t;
    data_of<int64_t>(valid.labels)[count++] = label[t];
  }
  return {valid.index.narrow(0, 0, count), valid.labels.narrow(0, 0, count)};
}

// Calls f(i, row i of the logits) for all rows, in parallel.
template <class S, class F>
void for_logits(const at::Tensor& logits, F&& f) {
  const int64_t width = logits.size(1);
  S* const data = data_of<S>(logits);
  for_rows(logits.size(0), width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i, data + i * width);
  });
}

at::Tensor cross_entropy(const at::Tensor& given, const at::Tensor& labels, bool gradient,
                         const at::Tensor& rounded, const at::Tensor& loss) {
  const at::Tensor logits = rounded.defined() ? given.clone() : given;
  at::Tensor inverse = at::empty({logits.size(0)}, logits.options());
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(labels);
    S* const losses = data_of<S>(loss);
    S* const inverses = data_of<S>(inverse);
    for_logits<S>(logits, [&](int64_t i, S* row) {
      const S value =
          loop_table<S>().cross_entropy_row(logits.size(1), row, label[i], gradient, inverses + i);
      if (losses != nullptr) losses[i] = value;
    });
  });
  if (gradient && rounded.defined()) rounded.copy_(logits);
  return inverse;
}

at::Tensor vocabulary_statistics(const at::Tensor& logits, const at::Tensor& labels, int64_t first) {
  const int64_t rows = logits.size(0), width = logits.size(1);
  at::Tensor statistics = at::empty({3, rows}, logits.options());
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(labels);
    S* const out = data_of<S>(statistics);
    for_logits<S>(logits, [&](int64_t i, const S* row) {
      const int64_t column = label[i] - first;
      out[rows + i] = loop_table<S>().exponential_sum(width, row, out + i);
      out[2 * rows + i] = column >= 0 && column < width ? row[column] : S(0);
    });
  });
  return statistics;
}

// Joins the parts in order, so that every rank gets the same bits.
void join_vocabulary(const at::Tensor& parts, const at::Tensor& softmax, const at::Tensor& loss) {
  const at::Tensor contiguous = parts.contiguous();
  const int64_t rows = parts.size(2);
  dispatch(parts.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto at = [&, data = data_of<S>(contiguous)](int64_t part, int64_t what, int64_t i) {
      return data[(part * 3 + what) * rows + i];
    };
    S* const tops = data_of<S>(softmax);
    S* const totals = tops + softmax.stride(0);
    for (int64_t i = 0; i < rows; ++i) {
      S largest = at(0, 0, i), total = 0, at_label = 0;
      for (int64_t p = 1; p < parts.size(0); ++p) largest = std::max(largest, at(p, 0, i));
      for (int64_t p = 0; p < parts.size(0); ++p) {
        total += at(p, 1, i) * std::exp(at(p, 0, i) - largest);
        at_label += at(p, 2, i);
      }
      tops[i] = largest;
      totals[i] = total;
      data_of<S>(loss)[i] = std::log(total) + largest - at_label;
    }
  });
}

void cross_entropy_of_part(const at::Tensor& given, const at::Tensor& labels, int64_t first,
                           const at::Tensor& softmax, const at::Tensor& rounded) {
  const at::Tensor logits = rounded.defined() ? given.clone() : given;
  const int64_t width = logits.size(1);
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(labels);
    const S* const tops = data_of<S>(softmax);
    const S* const totals = tops + softmax.stride(0);
    for_logits<S>(logits, [&](int64_t i, S* row) {
      const int64_t column = label[i] - first;
      loop_table<S>().exponentials(width, row, tops[i]);
      if (column >= 0 && column < width) row[column] -= totals[i];
    });
  });
  if (rounded.defined()) rounded.copy_(logits);
}

at::Tensor cross_entropy_online(const at::Tensor& logits, const at::Tensor& labels, int64_t first,
                                const at::Tensor& state) {
  const int64_t rows = logits.size(0), width = logits.size(1);
  at::Tensor factor = at::empty({rows}, logits.options());
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(labels);
    S *const largest = data_of<S>(state), *const factors = data_of<S>(factor);
    for_logits<S>(logits, [&](int64_t i, S* row) {
      const int64_t column = label[i] - first;
      const bool here = column >= 0 && column < width;
      const S before = largest[i];
      if (here) {
        largest[2 * rows + i] = row[column];
        largest[i] = std::max(before, row[column]);
        row[column] = std::numeric_limits<S>::lowest();  // leaves the label out of the sum
      }
      const S total = loop_table<S>().online_exponentials(width, row, largest + i);
      factors[i] = std::exp(before - largest[i]);
      largest[rows + i] = largest[rows + i] * factors[i] + total;
      if (here) row[column] = 0;
    });
  });
  return factor;
}

void add_scaled(const at::Tensor& x, const at::Tensor& factor, const at::Tensor& into, double beta) {
  const at::Tensor wide = factor.to(at::kDouble);
  const double value = *data_of<double>(wide);
  beta == 0 ? into.copy_(x).mul_(value) : into.add_(x, value);
}

std::optional<double> uniform_value(const at::Tensor& grad) {
  if (grad.numel() == 0) return 1.0;
  const at::Tensor values = grad.to(at::kDouble).contiguous();
  const auto* value = data_of<double>(values);
  if (!std::all_of(value, value + grad.numel(), [&](double v) { return v == value[0]; })) return std::nullopt;
  return value[0];
}

}  // namespace

void add_cross_entropy(OpTable& table) {
  table.valid_tokens = valid_tokens;
  table.cross_entropy = cross_entropy;
  table.vocabulary_statistics = vocabulary_statistics;
  table.join_vocabulary = join_vocabulary;
  table.cross_entropy_of_part = cross_entropy_of_part;
  table.cross_entropy_online = cross_entropy_online;
  table.uniform_value = uniform_value;
  table.add_scaled = add_scaled;
}

}  // namespace d9d::kernels::cpu
