#pragma once
// Lookup, logits and loss with a vocabulary that is sharded over ranks by rows: near-even, in rank order
// (Shoeybi et al. 2019, arXiv 1909.08053, section 3). Each of several tables is sharded by itself, so a rank
// holds some rows of every table.

#include <optional>
#include <vector>

#include "runtime/nn/shard/activation_shards.hpp"

namespace d9d {

class VocabularyShards {
 public:
  // `tokens`: how hidden states [B, S, H] are sharded between blocks. Its group shares the vocabulary, too.
  // `tables`: the rows of each table, in the order of word ids.
  VocabularyShards(ActivationShards tokens, std::vector<std::int64_t> tables);

  // The word id of the first row of this rank's part of a table.
  std::int64_t first(std::size_t table = 0) const { return firsts_[table]; }

  // ids int64 [B, S], the same on all ranks; tables [V_i_r, H], this rank's rows -> this rank's tokens
  // [B, S / ranks, H]. The row of `padding_id` gets no gradient.
  at::Tensor embed(const at::Tensor& ids, at::TensorList tables,
                   const std::optional<std::int64_t>& padding_id) const;
  // Hidden states [B, S / ranks, H] of this rank's tokens, labels [B, S] -> loss fp32 [B, S] on all ranks. bias [V_r]
  // of this rank's words, of one table; undefined: none.
  at::Tensor loss(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                  const at::Tensor& bias = {}) const;
  // Hidden states of this rank's tokens -> logits [B, S, V] on all ranks. With `positions`,
  // int64 [N]: logits of these positions only, [B, N, V]. All ranks must compute the same from
  // the result: backward does not sum.
  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& weight,
                    const std::optional<at::Tensor>& positions) const;

  // Logits of this rank's words [B, N, V_r], table after table -> of all words [B, N, V], on all ranks.
  at::Tensor collect_words(const at::Tensor& own) const;

 private:
  std::int64_t words_of(int rank) const;
  at::Tensor places_of(const at::Tensor& ids) const;

  ActivationShards tokens_;
  std::vector<std::int64_t> tables_;
  std::int64_t vocab_size_;
  std::vector<std::int64_t> firsts_;  // of this rank's part of each table
  std::int64_t first_place_ = 0;
  at::Tensor order_;  // int64 [V]: a word's place when words are sorted by rank; undefined: its id
};

}  // namespace d9d
