#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace d9d::kernels {

// loss[t] = logsumexp(z) - z[labels[t]] with z = weight hidden[t]; 0 where labels[t] == ignore_index.
// hidden [T, H], weight [V, H] of one dtype, labels int64 [T] -> fp32 [T] (fp64 for fp64).
// The logits exist for a block of tokens at a time only. When gradients are wanted, forward also makes them,
// for an upstream gradient of one per token: d hidden [T, H] and, while the current WeightWork's temporary
// slot is free (or there is no WeightWork), d weight [V, H]. Backward scales them when the upstream gradient
// is the same for all tokens that count (the usual mean or sum) and computes the blocks once more when it is
// not, or when the slot was taken.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                                int64_t ignore_index = -100);

// The rows of the vocabulary that one of several ranks holds.
struct VocabularyPart {
  int64_t first = 0;       // the id of the weight's first row
  int64_t vocab_size = 0;  // of all parts together
  // Own [3, n] -> those of all parts, [parts, 3, n], in the same order on every rank. Called in forward only,
  // equally often and with the same n on every rank that was given the same labels.
  std::function<at::Tensor(const at::Tensor& own)> gather;
};

// The loss over a vocabulary whose rows lie on several ranks (Shoeybi et al. 2019, arXiv 1909.08053, section
// 3; one exchange per block of tokens of its largest logit, sum of exponentials and label logit). hidden and
// labels are the same on all of them, weight is one part; the loss is the same on all. d hidden is the part's
// share: the gradient is the sum over the ranks. d weight is whole, for the same upstream gradient on all.
at::Tensor linear_cross_entropy_of_part(const at::Tensor& hidden, const at::Tensor& weight,
                                        const at::Tensor& labels, const VocabularyPart& part,
                                        int64_t ignore_index = -100);

}  // namespace d9d::kernels
