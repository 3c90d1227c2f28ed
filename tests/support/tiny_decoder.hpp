#pragma once
// Sizes of small models of the families, for steps that are compared on every mesh; the caller adds the rest.

#include <cstdint>
#include <memory>

namespace d9d::test {

template <class Config>
std::shared_ptr<Config> tiny_decoder(std::int64_t layers) {
  auto model = std::make_shared<Config>();
  model->vocab_size = 61;
  model->hidden_size = 32;
  model->intermediate_size = 24;
  model->num_hidden_layers = layers;
  model->num_attention_heads = 4;
  model->num_key_value_heads = 2;
  model->head_dim = 8;
  model->max_position_embeddings = 64;
  model->initializer_range = 0.2;
  return model;
}

// Four experts, two of them for a token, and a shared one.
template <class Config>
std::shared_ptr<Config> tiny_mixture(std::int64_t layers) {
  auto model = tiny_decoder<Config>(layers);
  model->moe_intermediate_size = 12;
  model->shared_expert_intermediate_size = 20;
  model->num_experts = 4;
  model->num_experts_per_tok = 2;
  return model;
}

}  // namespace d9d::test
