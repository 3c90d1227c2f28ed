#pragma once
// Linear cross entropy for a vocabulary too long for whole rows of logits. It works on some columns at a
// time, for many tokens at once. The softmax is the online one of Milakov and Gimelshein 2018 (arXiv
// 1805.02867). d hidden is summed along with it like the output of attention in Dao et al. 2022 (arXiv
// 2205.14135), with hidden as the query and the rows of the vocabulary as keys and values.
// Gradients of the tables need the whole sum first, so they take a second pass and one more product than
// run_blocks. It is faster all the same, because the products read the vocabulary and write its gradient
// once for many tokens, not once for 64. Internal to kernels/.

#include "kernels/cross_entropy/blocks.hpp"

namespace d9d::kernels {

// Computes the same as run_blocks without a shared vocabulary.
void run_columns(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                 const CrossEntropyWanted& wanted, const HeldLogits& held);

}  // namespace d9d::kernels
