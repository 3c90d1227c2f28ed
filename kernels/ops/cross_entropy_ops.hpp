#pragma once
// The ops of the linear cross entropy (cross_entropy.hpp) on a block of n tokens that each device
// implements. Their callers have checked shapes and dtypes. Logits [n, V] are contiguous in sum_dtype;
// labels int64 [n] come from valid_tokens.

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// The tokens whose label is not ignored, in order.
struct ValidTokens {
  at::Tensor index;   // int64 [n]: their positions
  at::Tensor labels;  // int64 [n]
};

struct CrossEntropyOps {
  // Contiguous int64 labels [T]; one outside [0, vocab_size) that is not ignore_index is an index error.
  Op<ValidTokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size)> valid_tokens{
      "valid_tokens"};

  // loss [n] (may be undefined) = logsumexp(logits) - logits[label]. Returns inverse [n], 1 / the
  // denominator of the softmax. If `gradient`, logits := (softmax(logits) - onehot(label)) / inverse.
  // Where `rounded` [n, V] in the activations' type is defined, that gradient goes there instead.
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, bool gradient, const at::Tensor& rounded,
                const at::Tensor& loss)>
      cross_entropy{"cross_entropy"};

  // For a vocabulary whose rows are on several ranks. `first` is the id of the first column of the
  // logits. Returns [3, n]: the largest logit, the sum of exp(logit - largest), and the label's logit, 0
  // if its row is on another rank.
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, int64_t first)> vocabulary_statistics{
      "vocabulary_statistics"};
  // Computes softmax [2, n] and loss [n] from the statistics of all parts [P, 3, n], in the order of the
  // parts. softmax is the largest logit and the sum of exp(logit - largest) over all parts.
  Op<void(const at::Tensor& parts, const at::Tensor& softmax, const at::Tensor& loss)> join_vocabulary{
      "join_vocabulary"};
  // logits, or `rounded` as above, := (softmax(logits) - onehot(label)) * softmax[1].
  Op<void(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const at::Tensor& softmax,
          const at::Tensor& rounded)>
      cross_entropy_of_part{"cross_entropy_of_part"};
  // For a vocabulary whose columns come one part after the other. `first` is the id of the first
  // column of the logits.
  // Adds this part to state [3, n]: the largest logit (at first -infinity), the sum of exp(logit -
  // largest) of all but the label (at first 0), and the label's logit, which does not change if the label
  // is in another part.
  // logits := exp(logits - largest), and 0 at the label, whose part of loss and gradient is a difference
  // that rounding would spoil.
  // Returns factor [n] = exp(largest before - largest), by which sums of earlier
  // exponentials must be multiplied.
  Op<at::Tensor(const at::Tensor& logits, const at::Tensor& labels, int64_t first, const at::Tensor& state)>
      cross_entropy_online{"cross_entropy_online"};

  // Returns the value that all entries of `grad` share. Returns none if they differ, or if the host would
  // have to wait to know; the gradient is then computed for each token.
  Op<std::optional<double>(const at::Tensor& grad)> uniform_value{"uniform_value"};
};

}  // namespace d9d::kernels
