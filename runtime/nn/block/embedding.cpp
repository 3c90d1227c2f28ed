#include "runtime/nn/block/embedding.hpp"

#include <ATen/ops/eq.h>
#include <ATen/ops/where.h>

#include "kernels/embedding.hpp"

namespace d9d {

TokenEmbedding::TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                               std::optional<std::int64_t> padding_id)
    : padding_id_(padding_id) {
  weight = make.normal(*this, "weight", {vocab_size, width});
}

at::Tensor TokenEmbedding::forward(const at::Tensor& ids) const {
  if (shards_) return shards_->embed(ids, weight, padding_id_);
  const at::Tensor rows = kernels::embedding(ids, weight);
  if (!padding_id_ || !rows.requires_grad()) return rows;
  return at::where(at::eq(ids, *padding_id_).unsqueeze(-1), rows.detach(), rows);
}

void TokenEmbedding::shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) {
  tensor.shard(weight, 0);
  shards_ = std::move(vocabulary);
}

}  // namespace d9d
