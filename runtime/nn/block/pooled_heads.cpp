#include "runtime/nn/block/pooled_heads.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/block/dropout.hpp"

namespace d9d {
namespace {

// [B, S, D] -> [N, D].
at::Tensor selected(const at::Tensor& all, const at::Tensor& mask) {
  const at::Tensor index = at::nonzero(at::eq(mask, 1).flatten()).squeeze(1);
  return at::index_select(all.flatten(0, 1), 0, index);
}

at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

}  // namespace

// Computes shared tokens before it selects: every rank then exchanges equally many, and each token
// contributes to the weights' gradients on one rank only.
TensorMap PooledHead::forward(const at::Tensor& normed, const TensorMap& shared) const {
  const auto mask = shared.find("pooling_mask");
  if (mask == shared.end()) return {{output_, tokens_.collect(compute(normed))}};
  const std::int64_t length = normed.size(1) * tokens_.size();
  D9D_REQUIRE(mask->second.sizes() == at::IntArrayRef({normed.size(0), length}),
              "pooling_mask has {} elements, expected one for each of {} x {} tokens", mask->second.numel(),
              normed.size(0), length);
  if (tokens_.shared()) return {{output_, selected(tokens_.collect(compute(normed)), mask->second)}};
  return {{output_, compute(selected(normed, mask->second))}};
}

void PooledHead::shard(TensorParallel& /*tensor*/, const ActivationShards& tokens,
                       std::shared_ptr<const VocabularyShards> /*vocabulary*/) {
  tokens_ = tokens;
}

HeadDropout::HeadDropout(ParameterMaker& /*make*/, double p, std::string name)
    : p(p), name(std::move(name)) {}

at::Tensor HeadDropout::forward(const at::Tensor& x) const {
  return is_training() ? dropout(x, p, name) : x;
}

ClassifyingHead::ClassifyingHead(ParameterMaker& make, torch::nn::Module& owner,
                                 const ClassificationHead& options, std::int64_t hidden_size,
                                 const std::string& name, std::shared_ptr<TransformedHidden> transform)
    : PooledHead("logits"),
      transform_(std::move(transform)),
      dropout_(make.child<HeadDropout>(owner, "dropout", options.dropout, head_scope(name) + "score")),
      score_(make.child<Linear>(owner, "score", hidden_size, options.num_labels)) {
  if (transform_) score_->add_bias(make, "score");
}

std::vector<at::Tensor> ClassifyingHead::inner_parameters() const {
  if (!transform_) return {};
  std::vector<at::Tensor> inner = transform_->parameters();
  inner.push_back(score_->bias);
  return inner;
}

at::Tensor ClassifyingHead::compute(const at::Tensor& hidden) const {
  const at::Tensor read = transform_ ? transform_->forward(hidden) : hidden;
  return widened(score_->forward(dropout_->forward(read)));
}

EmbeddingVectorHead::EmbeddingVectorHead(ParameterMaker& make, torch::nn::Module& owner,
                                         const EmbeddingHead& options, std::int64_t hidden_size)
    : PooledHead("embeddings"), normalize_(options.normalize) {
  if (options.embedding_dim)
    projection_ = make.child<Linear>(owner, "projection", hidden_size, *options.embedding_dim);
}

std::vector<at::Tensor> EmbeddingVectorHead::weights() const {
  return projection_ ? std::vector<at::Tensor>{projection_->weight} : std::vector<at::Tensor>();
}

at::Tensor EmbeddingVectorHead::compute(const at::Tensor& hidden) const {
  const at::Tensor vectors = widened(projection_ ? projection_->forward(hidden) : hidden);
  return normalize_ ? at::div(vectors, vectors.norm(2, -1, true).clamp_min(1e-12)) : vectors;
}

TensorMap NamedHeads::forward(const at::Tensor& normed, const TensorMap& shared) const {
  TensorMap outputs;
  for (const auto& [name, head] : heads_) {
    for (const auto& [output, tensor] : head->forward(normed, shared)) outputs[name + "." + output] = tensor;
  }
  return outputs;
}

std::vector<at::Tensor> NamedHeads::weights() const {
  std::vector<at::Tensor> all;
  for (const auto& [name, head] : heads_) {
    for (const at::Tensor& weight : head->weights()) all.push_back(weight);
  }
  return all;
}

std::vector<at::Tensor> NamedHeads::inner_parameters() const {
  std::vector<at::Tensor> all;
  for (const auto& [name, head] : heads_) {
    for (const at::Tensor& parameter : head->inner_parameters()) all.push_back(parameter);
  }
  return all;
}

void NamedHeads::shard(TensorParallel& tensor, const ActivationShards& tokens,
                       std::shared_ptr<const VocabularyShards> vocabulary) {
  for (const auto& [name, head] : heads_) head->shard(tensor, tokens, vocabulary);
}

}  // namespace d9d
