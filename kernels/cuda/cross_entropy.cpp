#include "kernels/cuda/cross_entropy.hpp"

#include <ATen/ops/empty.h>

#include <vector>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/host_values.hpp"

namespace d9d::cuda {
namespace {

// How many labels count is known where they come from: the host still knows them, or waits for them.
kernels::ValidTokens valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size) {
  const c10::DeviceGuard guard(labels.device());
  const at::Tensor here = kernels::fetch_host_values(labels).contiguous();
  const auto* const label = static_cast<const int64_t*>(here.const_data_ptr());
  std::vector<int64_t> index, valid;
  for (int64_t t = 0; t < here.numel(); ++t) {
    if (label[t] == ignore_index) continue;
    TORCH_CHECK_INDEX(label[t] >= 0 && label[t] < vocab_size, "linear_cross_entropy: label ", label[t],
                      " at token ", t, " is outside [0, ", vocab_size, ")");
    index.push_back(t);
    valid.push_back(label[t]);
  }
  return {uploaded(index, labels.device()), uploaded(valid, labels.device())};
}

Logits logits_of(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const char* op) {
  TORCH_CHECK(logits.scalar_type() == at::kFloat && logits.is_contiguous() && labels.is_contiguous(), op,
              " of ", logits.scalar_type(), " logits: the CUDA kernels of d9d take contiguous float32");
  return {.rows = logits.size(0),
          .width = logits.size(1),
          .data = logits.const_data_ptr<float>(),
          .labels = labels.const_data_ptr<int64_t>(),
          .first = first};
}

// Into `rounded`, or into the logits where that is undefined.
GradientOfLogits gradient_of(const at::Tensor& logits, const at::Tensor& rounded) {
  const at::Tensor& to = rounded.defined() ? rounded : logits;
  return {.type = type_of(to), .data = data_of(to)};
}

at::Tensor entropy(const at::Tensor& logits, const at::Tensor& labels, bool gradient,
                   const at::Tensor& rounded, const at::Tensor& loss) {
  const c10::DeviceGuard guard(logits.device());
  at::Tensor inverse = at::empty({logits.size(0)}, logits.options());
  check_launch(cross_entropy({.logits = logits_of(logits, labels, 0, "cross_entropy"),
                              .gradient = gradient ? gradient_of(logits, rounded) : GradientOfLogits{},
                              .inverse = data_of<float>(inverse),
                              .loss = data_of<float>(loss)},
                             stream_of(logits)),
               "cross_entropy");
  return inverse;
}

at::Tensor statistics(const at::Tensor& logits, const at::Tensor& labels, int64_t first) {
  const c10::DeviceGuard guard(logits.device());
  const char* const op = "vocabulary_statistics";
  at::Tensor result = at::empty({3, logits.size(0)}, logits.options());
  check_launch(
      vocabulary_statistics(logits_of(logits, labels, first, op), data_of<float>(result), stream_of(logits)),
      op);
  return result;
}

void join(const at::Tensor& parts, const at::Tensor& softmax, const at::Tensor& loss) {
  const c10::DeviceGuard guard(parts.device());
  const at::Tensor dense = parts.contiguous();
  check_launch(join_vocabulary({.num_parts = dense.size(0),
                                .rows = dense.size(2),
                                .parts = dense.const_data_ptr<float>(),
                                .largest = data_of<float>(softmax),
                                .total = data_of<float>(softmax) + softmax.stride(0),
                                .loss = data_of<float>(loss)},
                               stream_of(parts)),
               "join_vocabulary");
}

void of_part(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const at::Tensor& softmax,
             const at::Tensor& rounded) {
  const c10::DeviceGuard guard(logits.device());
  const char* const op = "cross_entropy_of_part";
  const float* const largest = softmax.const_data_ptr<float>();
  check_launch(cross_entropy_of_part({.logits = logits_of(logits, labels, first, op),
                                      .gradient = gradient_of(logits, rounded),
                                      .largest = largest,
                                      .total = largest + softmax.stride(0)},
                                     stream_of(logits)),
               op);
}

at::Tensor online(const at::Tensor& logits, const at::Tensor& labels, int64_t first,
                  const at::Tensor& state) {
  const c10::DeviceGuard guard(logits.device());
  const char* const op = "cross_entropy_online";
  at::Tensor factor = at::empty({logits.size(0)}, logits.options());
  check_launch(cross_entropy_online({.logits = logits_of(logits, labels, first, op),
                                     .exponentials = data_of<float>(logits),
                                     .state = data_of<float>(state),
                                     .factor = data_of<float>(factor)},
                                    stream_of(logits)),
               op);
  return factor;
}

// Without waiting nothing is known but that no entries are all the same.
std::optional<double> uniform_value(const at::Tensor& grad) {
  if (grad.numel() == 0) return 1.0;
  return std::nullopt;
}

void scaled(const at::Tensor& x, const at::Tensor& factor, const at::Tensor& into, double beta) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor dense_x = x.contiguous(), dense = into.contiguous(), wide = factor.to(at::kFloat);
  check_launch(add_scaled({.x_type = type_of(x),
                           .into_type = type_of(into),
                           .count = x.numel(),
                           .x = dense_x.const_data_ptr(),
                           .factor = wide.const_data_ptr<float>(),
                           .into = data_of(dense),
                           .add = beta != 0},
                          stream_of(x)),
               "add_scaled");
  if (!dense.is_same(into)) into.copy_(dense);
}

}  // namespace

void add_cross_entropy(kernels::OpTable& table) {
  table.valid_tokens = valid_tokens;
  table.cross_entropy = entropy;
  table.vocabulary_statistics = statistics;
  table.join_vocabulary = join;
  table.cross_entropy_of_part = of_part;
  table.cross_entropy_online = online;
  table.uniform_value = uniform_value;
  table.add_scaled = scaled;
}

}  // namespace d9d::cuda
