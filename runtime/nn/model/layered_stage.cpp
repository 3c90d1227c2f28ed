#include "runtime/nn/model/layered_stage.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {
namespace {

constexpr double norm_eps = 1e-6;

LayerRange layers_at(const LayeredSizes& sizes, StagePosition position) {
  D9D_REQUIRE(sizes.vocab_size >= 1 && sizes.width >= 1 && sizes.layers >= 1,
              "model_provider: a model of {} tokens, width {} and {} layers; each must be at least 1",
              sizes.vocab_size, sizes.width, sizes.layers);
  return distribute_layers(sizes.layers, position.num_stages)[static_cast<std::size_t>(position.stage)];
}

std::string name_of(std::int64_t layer, const std::string& name) {
  return fmt::format("layers.{}.{}", layer, name);
}

}  // namespace

LayeredStage::LayeredStage(const LayeredSizes& sizes, StagePosition position)
    : sizes_(sizes), position_(position), layers_(layers_at(sizes, position)) {
  if (position.is_first()) add("embedding", {sizes.vocab_size, sizes.width}, {}, ParameterRole::embedding);
  if (!position.is_last()) return;
  add("norm", {sizes.width}, {Initial::Kind::constant, 1}, ParameterRole::inside);
  add("head", {sizes.vocab_size, sizes.width}, {}, ParameterRole::output);
}

TensorMap LayeredStage::forward(const TensorMap& inputs, const TensorMap& shared) {
  at::Tensor hidden = position_.is_first()
                          ? kernels::embedding(tokens_.split(inputs.at("input_ids")), weight("embedding"))
                          : inputs.at("hidden_states");
  for (std::int64_t i = layers_.begin; i < layers_.end; ++i) hidden = layer(i, hidden);
  if (!position_.is_last()) return {{"hidden_states", hidden}};
  const at::Tensor normed = kernels::rms_norm(hidden, weight("norm"), norm_eps);
  const auto labels = shared.find("labels");
  if (labels == shared.end()) return {{"logits", tokens_.collect(kernels::linear(normed, weight("head")))}};
  const at::Tensor own = tokens_.split(labels->second);
  const at::Tensor loss = kernels::linear_cross_entropy(normed.flatten(0, 1), weight("head"), own.flatten());
  return {{"cross_entropy", tokens_.collect(loss.view(own.sizes()))}};
}

std::vector<StageParameter> LayeredStage::parallelize(StageGroups& groups) {
  const auto& mesh = groups.domains().parameters();
  D9D_REQUIRE(
      mesh.context_parallel() == 1 && mesh.expert_parallel == 1 && !mesh.has_data_parallel_shard(),
      "this model has no context, expert or sharded data parallelism; set those degrees of `mesh` to 1");
  TensorParallel tensor(parameters_, groups);
  shard(tensor);
  const bool is_sharded =
      std::any_of(parameters_.begin(), parameters_.end(),
                  [](const StageParameter& parameter) { return !parameter.layout.shard_axes().empty(); });
  D9D_REQUIRE(
      is_sharded || !mesh.has_tensor_parallel(),
      "this model has no tensor parallelism: its shard() names no matrix; set mesh.tensor_parallel to 1");
  tokens_ = tensor.activations(/*dim=*/1);
  return parameters_;
}

std::vector<std::int64_t> LayeredStage::layers() const {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = layers_.begin; i < layers_.end; ++i) numbers.push_back(i);
  return numbers;
}

void LayeredStage::add(std::int64_t layer, const std::string& name, std::vector<std::int64_t> shape,
                       Initial initial) {
  add(name_of(layer, name), std::move(shape), initial, ParameterRole::inside);
}

void LayeredStage::add(const std::string& name, std::vector<std::int64_t> shape, Initial initial,
                       ParameterRole role) {
  D9D_REQUIRE(index_.emplace(name, parameters_.size()).second, "the model adds the parameter {} twice", name);
  at::Tensor tensor = at::empty(shape, at::TensorOptions(at::kFloat)).requires_grad_();
  parameters_.push_back({name, std::move(tensor), Layout::local(std::move(shape)), initial});
  parameters_.back().role = role;
}

const at::Tensor& LayeredStage::weight(std::int64_t layer, const std::string& name) const {
  return weight(name_of(layer, name));
}

const at::Tensor& LayeredStage::weight(const std::string& name) const {
  const auto found = index_.find(name);
  D9D_REQUIRE(found != index_.end(), "the model uses the parameter {}, which it did not add to this stage",
              name);
  return parameters_[found->second].tensor;
}

}  // namespace d9d
