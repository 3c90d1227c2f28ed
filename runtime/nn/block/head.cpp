#include "runtime/nn/block/head.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/div.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tanh.h>

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::vector<std::reference_wrapper<const Linear>> references(
    const std::vector<std::shared_ptr<Linear>>& linears) {
  std::vector<std::reference_wrapper<const Linear>> references;
  for (const auto& linear : linears) references.emplace_back(*linear);
  return references;
}

}  // namespace

TransformedHidden::TransformedHidden(ParameterMaker& make, std::int64_t width, double eps, NormKind kind,
                                     bool bias) {
  dense_ = make.child<Linear>(*this, "dense", width, width);
  if (bias) dense_->add_bias(make, "dense");
  norm_ = make.child<RmsNorm>(*this, "norm", width, eps, false, kind);
}

at::Tensor TransformedHidden::forward(const at::Tensor& x) const {
  return norm_->forward(at::gelu(dense_->forward(x)));
}

std::vector<at::Tensor> LanguageModelHead::inner_parameters() const {
  std::vector<at::Tensor> inner;
  if (transform_) inner = transform_->parameters();
  for (const auto& projection : projections_) {
    if (projection->bias.defined()) inner.push_back(projection->bias);
  }
  return inner;
}

std::vector<at::Tensor> LanguageModelHead::weights() const {
  std::vector<at::Tensor> weights;
  for (const auto& projection : projections_) weights.push_back(projection->weight);
  return weights;
}

void LanguageModelHead::shard(TensorParallel& tensor, const ActivationShards& tokens,
                              std::shared_ptr<const VocabularyShards> vocabulary) {
  for (const auto& projection : projections_) {
    if (!tied_) tensor.shard(projection->weight, 0);
    if (projection->bias.defined()) tensor.shard(projection->bias, 0);
  }
  tokens_ = tokens;
  vocabulary_ = std::move(vocabulary);
}

at::Tensor LanguageModelHead::logits(const at::Tensor& normed, const TensorMap& shared) const {
  at::Tensor all = tokens_.gather(normed);
  const auto wanted = shared.find("logit_positions");
  if (wanted != shared.end()) all = at::index_select(all, 1, wanted->second);
  const std::vector<std::reference_wrapper<const Linear>> linears = references(projections_);
  const std::vector<at::Tensor> parts = linear_multi(all, linears);
  const at::Tensor words = parts.size() == 1 ? parts[0] : at::cat(parts, -1);
  const at::Tensor all_words = vocabulary_ ? vocabulary_->collect_words(words) : words;
  return softcap_ > 0 ? at::mul(at::tanh(at::div(all_words, softcap_)), softcap_) : all_words;
}

// The fused loss never holds all logits. A branch of the projection or a softcap needs them, so the
// loss is then computed step by step.
at::Tensor LanguageModelHead::loss(const at::Tensor& normed, const at::Tensor& labels) const {
  const at::Tensor targets = labels.reshape({-1});
  const auto has_branch = [](const auto& projection) { return projection->branch != nullptr; };
  if (softcap_ > 0 || std::any_of(projections_.begin(), projections_.end(), has_branch)) {
    const at::Tensor all = logits(normed, {}).flatten(0, 1);
    const at::Tensor wide = all.scalar_type() == at::kDouble ? all : all.to(at::kFloat);
    return at::cross_entropy_loss(wide, targets, {}, at::Reduction::None, -100);
  }
  const at::Tensor& bias = projections_.front()->bias;
  D9D_CHECK(!bias.defined() || projections_.size() == 1, "a bias of {} tables", projections_.size());
  if (vocabulary_) return vocabulary_->loss(normed, weights(), labels, bias);
  return kernels::linear_cross_entropy(normed.flatten(0, 1), weights(), targets, -100, bias);
}

TensorMap LanguageModelHead::forward(const at::Tensor& hidden, const TensorMap& shared) const {
  const at::Tensor normed = transform_ ? transform_->forward(hidden) : hidden;
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
