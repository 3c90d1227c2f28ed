#pragma once
// The ops of the linear cross entropy (cross_entropy.hpp) on a block of n tokens, as every device has to do
// them. Their callers have checked shapes and dtypes. Logits [n, V] are contiguous in sum_dtype; labels int64
// [n] come from valid_tokens.

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// The tokens that count, in order.
struct ValidTokens {
  at::Tensor index;   // int64 [n]: their positions
  at::Tensor labels;  // int64 [n]
};

struct CrossEntropyOps {
  // Contiguous int64 labels [T]; one outside [0, vocab_size) that is not ignore_index is an index error.
  Op<ValidTokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size)> valid_tokens{
      "valid_tokens"};

  // loss [n] (may be undefined) = logsumexp(logits) - logits[label]. Returns inverse [n] = 1 / the softmax's
  // denominator; with `gradient` logits := (softmax(logits) - onehot(label)) / inverse.
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, bool gradient, const at::Tensor& loss)>
      cross_entropy{"cross_entropy"};

  // For a vocabulary whose rows are on several ranks; `first` is the id of logits' first column.
  // Returns [3, n]: the largest logit, the sum of exponentials of the logits less the largest, and the
  // label's logit, 0 if its row is on another rank.
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, int64_t first)> vocabulary_statistics{
      "vocabulary_statistics"};
  // From the statistics of all parts [P, 3, n], taken in order: softmax [2, n] = the largest logit and the
  // sum of exponentials of the logits less the largest, over all parts, and loss [n].
  Op<void(const at::Tensor& parts, const at::Tensor& softmax, const at::Tensor& loss)> join_vocabulary{
      "join_vocabulary"};
  // logits := (softmax(logits) - onehot(label)) * softmax[1].
  Op<void(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const at::Tensor& softmax)>
      cross_entropy_of_part{"cross_entropy_of_part"};
  // For a vocabulary whose columns come one part after the other; `first` is the id of logits' first column.
  // state [3, n], of the parts so far and then with this one: the largest logit (at first -infinity), the sum of
  // exp(logit - largest) of all but the label (at first 0), and the label's logit, which stays as it is when it is in
  // another part. logits := exp(logits - largest), 0 at the label: its part of loss and gradient is a difference that
  // rounding would spoil. Returns factor [n]: what sums of earlier exponentials are multiplied by,
  // exp(largest before - largest).
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const at::Tensor& state)>
      cross_entropy_online{"cross_entropy_online"};

  // The value that all entries of `grad` share. None if they differ, or if the device would have to wait to
  // know: the gradient is then computed for each token.
  Op<std::optional<double>(const at::Tensor& grad)> uniform_value{"uniform_value"};
};

}  // namespace d9d::kernels
