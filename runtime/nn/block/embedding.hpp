#pragma once
// The first block of a model: token ids to hidden states.

#include <memory>
#include <optional>

#include "runtime/nn/block/parameter_maker.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/nn/shard/vocabulary.hpp"

namespace d9d {

class Embedding : public torch::nn::Module {
 public:
  // int64 ids [B, S] -> [B, S, H].
  virtual at::Tensor forward(const at::Tensor& ids) const = 0;
  // Makes the table tensor-parallel over the vocabulary. Afterwards the result holds this rank's tokens.
  virtual void shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) = 0;
  // [V, H], for a head that is tied to it.
  virtual const at::Tensor& table() const = 0;
};

// weight [V, H], normal. The row of `padding_id` gets no gradient from here.
class TokenEmbedding final : public Embedding {
 public:
  TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                 std::optional<std::int64_t> padding_id);

  at::Tensor forward(const at::Tensor& ids) const override;
  void shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) override;
  const at::Tensor& table() const override { return weight; }

  at::Tensor weight;

 private:
  std::optional<std::int64_t> padding_id_;
  std::shared_ptr<const VocabularyShards> shards_;
};

}  // namespace d9d
