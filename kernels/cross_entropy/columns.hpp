#pragma once
// Linear cross entropy of a vocabulary too long for whole rows of logits: some columns after the other, for many tokens
// at once. The softmax is the online one of Milakov and Gimelshein 2018 (arXiv 1805.02867), and d hidden is summed along
// with it as the output of attention is in Dao et al. 2022 (arXiv 2205.14135): with hidden as the query, and the rows of
// the vocabulary as keys and values. Gradients of the tables need the whole sum first: they take a second pass, with a
// product more than run_blocks, but all of its products read the vocabulary, and write its gradient, once for many
// tokens and not for 64. Internal to kernels/.

#include "kernels/cross_entropy/blocks.hpp"

namespace d9d::kernels {

// True if it takes less time and memory than run_blocks. Not on a GPU, whose blocks have some thousand tokens.
bool worth_columns(const at::Tensor& hidden, int64_t vocabulary);

// As run_blocks without a shared vocabulary.
void run_columns(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                 const CrossEntropyWanted& wanted);

}  // namespace d9d::kernels
