#include "runtime/nn/block/block_options.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/block/head_options.hpp"

namespace d9d {

void require_divisible_heads(const AttentionOptions& options, int ranks) {
  D9D_REQUIRE(options.num_heads % ranks == 0,
              "tensor_parallel is {}, which does not divide the model's {} attention heads; choose a "
              "divisor of {}",
              ranks, options.num_heads, options.num_heads);
  D9D_REQUIRE(options.num_kv_heads % ranks == 0 || ranks % options.num_kv_heads == 0,
              "tensor_parallel is {}, but the model has {} key heads; choose a divisor or a multiple of {}",
              ranks, options.num_kv_heads, options.num_kv_heads);
}

void require_divisible_heads(const LatentAttentionOptions& options, int ranks) {
  require_divisible_heads(AttentionOptions{.num_heads = options.num_heads, .num_kv_heads = options.num_heads},
                          ranks);
}

void require_divisible_heads(const DeltaNetOptions& options, int ranks) {
  D9D_REQUIRE(
      options.num_key_heads % ranks == 0,
      "tensor_parallel is {}, which does not divide the model's {} linear key heads; choose a divisor of {}",
      ranks, options.num_key_heads, options.num_key_heads);
}

void require_divisible_width(std::int64_t intermediate_size, int ranks) {
  D9D_REQUIRE(intermediate_size >= ranks,
              "tensor_parallel is {}, but the model's intermediate_size is {}; choose fewer ranks", ranks,
              intermediate_size);
}

void require_divisible_vocabulary(std::int64_t vocab_size, int ranks) {
  D9D_REQUIRE(vocab_size >= ranks,
              "tensor_parallel is {}, but the model's vocabulary has {} words; choose fewer ranks", ranks,
              vocab_size);
}

std::string head_scope(const std::string& name) {
  return name.empty() ? "" : "heads." + name + ".";
}

std::map<std::string, std::vector<std::int64_t>> parameters_of_transform(const HeadTransform& transform,
                                                                         std::int64_t hidden_size) {
  if (!transform.wanted) return {};
  std::map<std::string, std::vector<std::int64_t>> shapes = {
      {"head.dense.weight", {hidden_size, hidden_size}}, {"head.norm.weight", {hidden_size}}};
  if (transform.bias) shapes["head.dense.bias"] = {hidden_size};
  return shapes;
}

std::map<std::string, std::vector<std::int64_t>> parameters_of_head(const HeadOptions& head,
                                                                    std::int64_t hidden_size,
                                                                    const HeadTransform& transform) {
  if (const auto* classes = std::get_if<ClassificationHead>(&head)) {
    auto shapes = parameters_of_transform(transform, hidden_size);
    shapes["score.weight"] = {classes->num_labels, hidden_size};
    if (transform.wanted) shapes["score.bias"] = {classes->num_labels};
    return shapes;
  }
  const auto* embedding = std::get_if<EmbeddingHead>(&head);
  if (embedding == nullptr || !embedding->embedding_dim) return {};
  return {{"projection.weight", {*embedding->embedding_dim, hidden_size}}};
}

}  // namespace d9d
