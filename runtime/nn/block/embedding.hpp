#pragma once
// The first block of a model: token ids to hidden states.

#include <memory>
#include <optional>
#include <vector>

#include "runtime/nn/block/parameter_maker.hpp"
#include "runtime/nn/block/vocabulary_part.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/nn/shard/vocabulary.hpp"

namespace d9d {

class Embedding : public torch::nn::Module {
 public:
  // int64 ids [B, S] -> [B, S, H].
  virtual at::Tensor forward(const at::Tensor& ids) const = 0;
  // Makes the table tensor-parallel over the vocabulary. Afterwards the result holds this rank's tokens.
  virtual void shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) = 0;
  // The tables [V_i, H], in the order of token ids, for a head that is tied to them.
  virtual std::vector<at::Tensor> tables() const = 0;
};

// weight [V, H], normal. The row of `padding_id` gets no gradient from here.
class TokenEmbedding final : public Embedding {
 public:
  TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                 std::optional<std::int64_t> padding_id);

  at::Tensor forward(const at::Tensor& ids) const override;
  void shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) override;
  std::vector<at::Tensor> tables() const override { return {weight}; }

  at::Tensor weight;

 private:
  std::optional<std::int64_t> padding_id_;
  std::shared_ptr<const VocabularyShards> shards_;
};

// The rows of one named part of the vocabulary: weight [V_i, H], normal.
struct TokenTable : torch::nn::Module {
  TokenTable(ParameterMaker& make, std::int64_t rows, std::int64_t width);
  at::Tensor weight;
};

// One table per part of the vocabulary, so that each can be trained or frozen by itself. The children have
// the names of the parts. The result is that of one table with all rows.
class SplitTokenEmbedding final : public Embedding {
 public:
  SplitTokenEmbedding(ParameterMaker& make, const std::vector<VocabularyPart>& parts, std::int64_t width,
                      std::optional<std::int64_t> padding_id);

  at::Tensor forward(const at::Tensor& ids) const override;
  void shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) override;
  std::vector<at::Tensor> tables() const override;

 private:
  std::vector<std::shared_ptr<TokenTable>> tables_;
  std::int64_t vocab_size_;
  std::optional<std::int64_t> padding_id_;
  std::shared_ptr<const VocabularyShards> shards_;
};

}  // namespace d9d
