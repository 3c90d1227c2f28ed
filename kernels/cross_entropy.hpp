#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace d9d::kernels {

// loss[t] = logsumexp(z) - z[labels[t]] with z = weight hidden[t] + bias; 0 where labels[t] == ignore_index.
// hidden [T, H], weight [V, H], bias [V] (undefined: none) of one dtype, labels int64 [T] -> fp32 [T] (fp64 for fp64).
// Logits exist only for one block of tokens at a time. If the vocabulary has more than 64 Ki rows, they
// exist only for some of its columns at a time.
// If gradients are wanted, forward also computes them for an upstream gradient of one per token: d hidden
// [T, H] and d weight [V, H]. It computes d weight only if the temporary slot of the current WeightWork
// is free or if there is no WeightWork. Backward scales these gradients if the upstream gradient is the
// same for all valid tokens (the usual mean or sum). It computes the blocks again if the upstream
// gradient differs between tokens or if the slot was borrowed.
// `tables`: the weight, or several tables [V_i, H] that are its rows one after the other. If the slot was
// borrowed, the gradients of several tables are in memory of their own.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                                int64_t ignore_index = -100, const at::Tensor& bias = {});

// The rows of the vocabulary that one of several ranks holds.
struct VocabularyPart {
  int64_t first = 0;       // the id of the weight's first row
  int64_t vocab_size = 0;  // of all parts together
  // Takes this rank's statistics [3, n]; returns those of all parts, [parts, 3, n], in the same order on every
  // rank. Called in forward only, equally often and with the same n on all ranks that got the same labels.
  std::function<at::Tensor(const at::Tensor& own)> gather;
};

// The loss over a vocabulary whose rows are spread over several ranks (Shoeybi et al. 2019, arXiv 1909.08053,
// section 3). For each block of tokens the ranks exchange the largest logit, the sum of exponentials and the
// label's logit. All ranks pass the same hidden and labels, and their own part of the weight; all get the same
// loss. d hidden is this part's share: the gradient is the sum over the ranks. d weight is the whole gradient
// of this part, if all ranks pass the same upstream gradient. `bias`: of this part's rows.
at::Tensor linear_cross_entropy_of_part(const at::Tensor& hidden, at::TensorList tables,
                                        const at::Tensor& labels, const VocabularyPart& part,
                                        int64_t ignore_index = -100, const at::Tensor& bias = {});

}  // namespace d9d::kernels
