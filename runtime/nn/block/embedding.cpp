#include "runtime/nn/block/embedding.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/where.h>

#include "kernels/embedding.hpp"

namespace d9d {
namespace {

at::Tensor without_gradient_of(const std::optional<std::int64_t>& padding_id, const at::Tensor& ids,
                               const at::Tensor& rows) {
  if (!padding_id || !rows.requires_grad()) return rows;
  return at::where(at::eq(ids, *padding_id).unsqueeze(-1), rows.detach(), rows);
}

}  // namespace

TokenEmbedding::TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                               std::optional<std::int64_t> padding_id)
    : padding_id_(padding_id) {
  weight = make.normal(*this, "weight", {vocab_size, width});
}

at::Tensor TokenEmbedding::forward(const at::Tensor& ids) const {
  if (shards_) return shards_->embed(ids, weight, padding_id_);
  return without_gradient_of(padding_id_, ids, kernels::embedding(ids, weight));
}

void TokenEmbedding::shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) {
  tensor.shard(weight, 0);
  shards_ = std::move(vocabulary);
}

TokenTable::TokenTable(ParameterMaker& make, std::int64_t rows, std::int64_t width) {
  weight = make.normal(*this, "weight", {rows, width});
}

SplitTokenEmbedding::SplitTokenEmbedding(ParameterMaker& make, const std::vector<VocabularyPart>& parts,
                                         std::int64_t width, std::optional<std::int64_t> padding_id)
    : vocab_size_(rows_of(parts)), padding_id_(padding_id) {
  for (const VocabularyPart& part : parts)
    tables_.push_back(make.child<TokenTable>(*this, part.name, part.size, width));
}

std::vector<at::Tensor> SplitTokenEmbedding::tables() const {
  std::vector<at::Tensor> tables;
  for (const auto& table : tables_) tables.push_back(table->weight);
  return tables;
}

at::Tensor SplitTokenEmbedding::forward(const at::Tensor& ids) const {
  if (shards_) return shards_->embed(ids, tables(), padding_id_);
  at::Tensor sum;  // each id has a row other than zeros in one table only
  std::int64_t first = 0;
  for (const auto& table : tables_) {
    const at::Tensor rows = kernels::embedding_of_part(ids, table->weight, first, vocab_size_);
    sum = sum.defined() ? at::add(sum, rows) : rows;
    first += table->weight.size(0);
  }
  return without_gradient_of(padding_id_, ids, sum);
}

void SplitTokenEmbedding::shard(TensorParallel& tensor, std::shared_ptr<const VocabularyShards> vocabulary) {
  for (const auto& table : tables_) tensor.shard(table->weight, 0);
  shards_ = std::move(vocabulary);
}

}  // namespace d9d
