#pragma once
// A vocabulary whose rows lie on several ranks, near-even, in rank order: lookup, logits and loss of it
// (Shoeybi et al. 2019, arXiv 1909.08053, section 3).

#include "runtime/nn/shard/activation_shards.hpp"

namespace d9d {

class VocabularyShards {
 public:
  // `tokens` says how hidden states [B, S, H] lie between blocks; rows of the vocabulary lie on its group.
  VocabularyShards(ActivationShards tokens, std::int64_t vocab_size);

  // The id of the own weight's first row.
  std::int64_t first() const { return first_; }

  // int64 ids [B, S], the same on all ranks; own rows [V_r, H] -> own tokens [B, S / ranks, H]. The row of
  // `padding_id` gets no gradient.
  at::Tensor embed(const at::Tensor& ids, const at::Tensor& weight,
                   const std::optional<std::int64_t>& padding_id) const;
  // Own tokens' hidden [B, S / ranks, H], labels [B, S] -> loss fp32 [B, S], the same on all ranks.
  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels) const;
  // Own tokens' hidden -> logits [B, S, V], or of `positions` (int64 [N]) only [B, N, V]; the same on all
  // ranks. What is computed from them must be the same, too.
  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& weight,
                    const std::optional<at::Tensor>& positions) const;

  // Own words' logits [B, N, V_r] -> those of all words [B, N, V], the same on all ranks.
  at::Tensor collect_words(const at::Tensor& own) const;

 private:
  ActivationShards tokens_;
  std::int64_t vocab_size_;
  std::int64_t first_;
};

}  // namespace d9d
