#pragma once
// Linear cross entropy, one block of tokens after the other. n valid tokens, H hidden size, V rows of the
// vocabulary. Internal to kernels/.

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/cross_entropy.hpp"
#include "kernels/cross_entropy/loss_memory.hpp"
#include "kernels/ops/cross_entropy_ops.hpp"

namespace d9d::kernels {

struct CrossEntropyWanted {
  at::Tensor loss;                   // [n], or undefined
  at::Tensor dhidden;                // [n, H] for an upstream gradient of one, or undefined
  std::vector<at::Tensor> dweights;  // one per table, undefined if not wanted; empty: none is wanted
  double beta = 0;                   // dweight = gradient + beta dweight
  at::Tensor scale;                  // [n] upstream gradient for the dweights and dbias, or undefined: one
  at::Tensor dbias = {};             // [V] in sum_dtype, overwritten, or undefined

  bool dweight() const;   // of any table
  bool gradient() const;  // of a table or of hidden
};

// One part of a vocabulary, and the softmax [2, n] over all parts: softmax[0] is the largest logit of
// each token, softmax[1] the sum of exp(logit - largest). run_blocks writes it if `loss` is wanted,
// otherwise it reads it.
struct SharedVocabulary {
  VocabularyPart part;
  at::Tensor softmax;
};

// Computes the wanted results. hidden [n, H] holds the valid tokens. The tables [V_i, H] follow each
// other in the vocabulary; they are all of it if `shared` is null. bias [V], of the rows of the tables; undefined:
// none. `held`: how many logits exist at once.
void run_blocks(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& bias,
                const ValidTokens& valid, const CrossEntropyWanted& wanted, SharedVocabulary* shared,
                const HeldLogits& held);
// Returns the number of rows of all tables together.
int64_t vocabulary_rows(at::TensorList tables);

}  // namespace d9d::kernels
