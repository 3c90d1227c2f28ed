#include "runtime/nn/parallel/tensor_parallel_limits.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

bool has_dense_layers(const Qwen3Config& config) {
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (!config.is_sparse_layer(layer)) return true;
  }
  return false;
}

}  // namespace

void require_tensor_parallel(const Qwen3Config& config, int ranks) {
  D9D_REQUIRE(config.num_attention_heads % ranks == 0,
              "tensor_parallel is {}, which does not divide the model's {} attention heads; choose a "
              "divisor of {}",
              ranks, config.num_attention_heads, config.num_attention_heads);
  D9D_REQUIRE(config.num_key_value_heads % ranks == 0 || ranks % config.num_key_value_heads == 0,
              "tensor_parallel is {}, but the model has {} key heads; choose a divisor or a multiple of "
              "{}",
              ranks, config.num_key_value_heads, config.num_key_value_heads);
  D9D_REQUIRE(config.intermediate_size >= ranks || !has_dense_layers(config),
              "tensor_parallel is {}, but the model's intermediate_size is {}; choose fewer ranks", ranks,
              config.intermediate_size);
  D9D_REQUIRE(config.vocab_size >= ranks,
              "tensor_parallel is {}, but the model's vocabulary has {} words; choose fewer ranks", ranks,
              config.vocab_size);
}

Qwen3Config config_of_tensor_rank(const Qwen3Config& config, int ranks) {
  Qwen3Config own = config;
  own.num_attention_heads /= ranks;
  if (config.num_key_value_heads % ranks == 0) own.num_key_value_heads /= ranks;
  own.intermediate_size = (config.intermediate_size + ranks - 1) / ranks;
  own.vocab_size = (config.vocab_size + ranks - 1) / ranks;
  return own;
}

}  // namespace d9d
