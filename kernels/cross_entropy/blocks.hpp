#pragma once
// Linear cross entropy of one block of tokens after the other. Internal to kernels/.
// n valid tokens, H hidden size, V rows of the vocabulary.

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/cross_entropy.hpp"
#include "kernels/ops/cross_entropy_ops.hpp"

namespace d9d::kernels {

struct CrossEntropyWanted {
  at::Tensor loss;                   // [n], or undefined
  at::Tensor dhidden;                // [n, H] for an upstream gradient of one, or undefined
  std::vector<at::Tensor> dweights;  // like the tables, or undefined; empty: none is wanted
  double beta = 0;                   // dweight = gradient + beta dweight
  at::Tensor scale;                  // [n] upstream gradient for the dweights, or undefined: one

  bool dweight() const;   // of any table
  bool gradient() const;  // of a table or of hidden
};

// One part of a vocabulary, and the softmax over all parts: softmax[0] is the largest logit of each token,
// softmax[1] the sum of the exponentials of its logits less the largest, [2, n]. run_blocks writes it when
// `loss` is wanted, and otherwise reads it.
struct SharedVocabulary {
  VocabularyPart part;
  at::Tensor softmax;
};

// Computes what is wanted. hidden [n, H] holds the valid tokens, the tables [V_i, H] follow each other in the
// vocabulary. If `shared` is null, they are all of it.
void run_blocks(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                const CrossEntropyWanted& wanted, SharedVocabulary* shared);
// The rows of all tables together.
int64_t vocabulary_rows(at::TensorList tables);

}  // namespace d9d::kernels
