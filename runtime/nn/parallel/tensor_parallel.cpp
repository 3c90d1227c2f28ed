#include "runtime/nn/parallel/tensor_parallel.hpp"

#include "runtime/nn/parallel/tensor_parallel_limits.hpp"
#include "runtime/nn/parallel/vocabulary.hpp"
#include "runtime/nn/qwen3_model.hpp"

namespace d9d {
namespace {

constexpr const char* kAxis = "tp";

const Mesh& dense_mesh(const StageGroups& groups) {
  return groups.domains().mesh_for(kDenseDomain);
}

void share_attention(GroupedQueryAttention& attention, TensorParallel& tensor, const ActivationShards& tokens,
                     std::int64_t num_kv_heads) {
  const AttentionLinears linears = attention.linears();
  tensor.column(linears.q.weight, linears.q.bias);
  tensor.row(linears.o.weight);
  if (num_kv_heads % tensor.size() != 0) {
    attention.share_heads(tokens, tensor.rank() * num_kv_heads / tensor.size());
    return;
  }
  tensor.column(linears.k.weight, linears.k.bias);
  tensor.column(linears.v.weight, linears.v.bias);
  attention.share_heads(tokens, std::nullopt);
}

void share_feed_forward(SwiGlu& feed_forward, TensorParallel& tensor, const ActivationShards& tokens) {
  const SwiGluLinears linears = feed_forward.linears();
  tensor.column(linears.gate.weight);
  tensor.column(linears.up.weight);
  tensor.row(linears.down.weight);
  feed_forward.share_width(tokens);
}

}  // namespace

TensorParallel::TensorParallel(StageParameters& parameters, StageGroups& groups)
    : parameters_(parameters),
      groups_(groups),
      size_(dense_mesh(groups).axis_size(kAxis)),
      rank_(dense_mesh(groups).coordinate(groups.rank(), kAxis)) {}

void TensorParallel::column(const at::Tensor& weight, const at::Tensor& bias) {
  shard(weight, 0);
  if (bias.defined()) shard(bias, 0);
}

void TensorParallel::row(const at::Tensor& weight) {
  shard(weight, 1);
}

void TensorParallel::shard(const at::Tensor& tensor, int dim) {
  if (size_ == 1) return;
  place(parameter_of(parameters_, tensor),
        axis_of(dense_mesh(groups_), kAxis, groups_.rank(), Placement::shard(dim)));
}

ActivationShards TensorParallel::activations(std::int64_t dim) const {
  if (size_ == 1) return {};
  return {groups_.open(kDenseDomain, {kAxis}, "tensor_parallel"), dim};
}

void parallelize_tensor_parallel(Qwen3Model& stage, StageParameters& parameters, StageGroups& groups) {
  TensorParallel tensor(parameters, groups);
  if (tensor.size() == 1) return;
  const Qwen3Config& config = stage.config();
  require_tensor_parallel(config, tensor.size());
  const ActivationShards tokens = tensor.activations(/*dim=*/1);
  for (const auto& [index, layer] : stage.layers()) {
    share_attention(layer->attention(), tensor, tokens, config.num_key_value_heads);
    if (layer->dense() != nullptr) share_feed_forward(*layer->dense(), tensor, tokens);
  }
  for (const at::Tensor& weight : stage.vocabulary_weights()) tensor.shard(weight, 0);
  stage.share_tokens(tokens, std::make_shared<VocabularyShards>(tokens, config.vocab_size));
}

}  // namespace d9d
