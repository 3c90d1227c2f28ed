#pragma once
// Lookup, logits and loss with a vocabulary that is sharded over ranks by rows: near-even, in rank order
// (Shoeybi et al. 2019, arXiv 1909.08053, section 3).

#include "runtime/nn/shard/activation_shards.hpp"

namespace d9d {

class VocabularyShards {
 public:
  // `tokens`: how hidden states [B, S, H] are sharded between blocks. The same group shares the vocabulary.
  VocabularyShards(ActivationShards tokens, std::int64_t vocab_size);

  // The word id of the first row of this rank's weight.
  std::int64_t first() const { return first_; }

  // ids int64 [B, S], the same on all ranks; weight [V_r, H], this rank's rows -> this rank's tokens
  // [B, S / ranks, H]. The row of `padding_id` gets no gradient.
  at::Tensor embed(const at::Tensor& ids, const at::Tensor& weight,
                   const std::optional<std::int64_t>& padding_id) const;
  // Hidden states [B, S / ranks, H] of this rank's tokens, labels [B, S] -> loss fp32 [B, S] on all ranks.
  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels) const;
  // Hidden states of this rank's tokens -> logits [B, S, V] on all ranks; with `positions` (int64
  // [N]) only of those, [B, N, V]. All ranks must compute the same from them: backward does not sum.
  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& weight,
                    const std::optional<at::Tensor>& positions) const;

  // Logits of this rank's words [B, N, V_r] -> of all words [B, N, V], on all ranks.
  at::Tensor collect_words(const at::Tensor& own) const;

 private:
  ActivationShards tokens_;
  std::int64_t vocab_size_;
  std::int64_t first_;
};

}  // namespace d9d
