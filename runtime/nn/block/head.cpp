#include "runtime/nn/block/head.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/index_select.h>

#include "kernels/cross_entropy.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

void LanguageModelHead::shard(TensorParallel& tensor, const ActivationShards& tokens,
                              std::shared_ptr<const VocabularyShards> vocabulary) {
  if (!tied_) tensor.shard(projection_->weight, 0);
  tokens_ = tokens;
  vocabulary_ = std::move(vocabulary);
}

at::Tensor LanguageModelHead::logits(const at::Tensor& normed, const TensorMap& shared) const {
  at::Tensor all = tokens_.gather(normed);
  const auto wanted = shared.find("logit_positions");
  if (wanted != shared.end()) all = at::index_select(all, 1, wanted->second);
  const at::Tensor words = projection_->forward(all);
  return vocabulary_ ? vocabulary_->collect_words(words) : words;
}

// The fused loss never holds all logits; with a branch beside the product it has to.
at::Tensor LanguageModelHead::loss(const at::Tensor& normed, const at::Tensor& labels) const {
  const at::Tensor targets = labels.reshape({-1});
  if (projection_->branch) {
    const at::Tensor all = logits(normed, {}).flatten(0, 1);
    const at::Tensor wide = all.scalar_type() == at::kDouble ? all : all.to(at::kFloat);
    return at::cross_entropy_loss(wide, targets, {}, at::Reduction::None, -100);
  }
  if (vocabulary_) return vocabulary_->loss(normed, projection_->weight, labels);
  return kernels::linear_cross_entropy(normed.flatten(0, 1), projection_->weight, targets);
}

TensorMap LanguageModelHead::forward(const at::Tensor& normed, const TensorMap& shared) const {
  const auto labels = shared.find("labels");
  if (labels == shared.end()) return {{"logits", logits(normed, shared)}};
  const at::Tensor& target = labels->second;
  const std::int64_t length = normed.size(1) * tokens_.size();
  D9D_REQUIRE(
      target.sizes() == at::IntArrayRef({normed.size(0), length}) && target.scalar_type() == at::kLong,
      "labels is a {} tensor of {} elements, expected int64 [{}, {}], already shifted",
      c10::toString(target.scalar_type()), target.numel(), normed.size(0), length);
  return {{"cross_entropy", loss(normed, target).view(target.sizes())}};
}

}  // namespace d9d
