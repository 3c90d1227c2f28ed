#pragma once
// Linear cross entropy a block of tokens at a time. Internal to kernels/.

#include <ATen/core/Tensor.h>

#include "kernels/cross_entropy.hpp"

namespace d9d::kernels {

// The tokens that count, in order.
struct ValidTokens {
  at::Tensor index;   // int64 [n]
  at::Tensor labels;  // int64 [n]
};

// Contiguous int64 labels [T]; one outside [0, vocab_size) is an index error.
ValidTokens valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size);

struct CrossEntropyWanted {
  at::Tensor loss;     // [n], or undefined
  at::Tensor dhidden;  // [n, H] for an upstream gradient of one, or undefined
  at::Tensor dweight;  // [V, H], or undefined
  double beta = 0;     // dweight = gradient + beta dweight
  at::Tensor scale;    // [n] upstream gradient for dweight, or undefined: one
};

// A part of a vocabulary and what is known of the softmax over the whole: the largest logit and the sum of
// the exponentials of the others less that one, [2, n]. Filled by run_blocks where loss is wanted, else read.
struct SharedVocabulary {
  VocabularyPart part;
  at::Tensor softmax;
};

// hidden [n, H] of the valid tokens. Null `shared`: weight is the whole vocabulary.
void run_blocks(const at::Tensor& hidden, const at::Tensor& weight, const ValidTokens& valid,
                const CrossEntropyWanted& wanted, SharedVocabulary* shared);

}  // namespace d9d::kernels
