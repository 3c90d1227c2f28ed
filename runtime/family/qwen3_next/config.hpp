#pragma once
// A Qwen3-Next causal language model: gated delta nets, attention with an output gate in some layers, routed
// experts and a gated shared one, zero-centred norms. Defaults are those of transformers 5.23 (Qwen3NextConfig).
// No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct Qwen3NextConfig final : SparseDecoder {
  Qwen3NextConfig();

  bool attention_bias = false;
  double partial_rotary_factor = 0.25;       // of a head's dimensions: the first ones turn
  std::vector<bool> linear_layers;           // which layers have a delta net instead of attention
  std::int64_t linear_num_key_heads = 16;    // and of queries
  std::int64_t linear_num_value_heads = 32;  // a multiple of linear_num_key_heads
  std::int64_t linear_key_head_dim = 128;
  std::int64_t linear_value_head_dim = 128;
  std::int64_t linear_conv_kernel_dim = 4;

  bool is_linear_layer(std::int64_t layer) const { return linear_layers[static_cast<std::size_t>(layer)]; }
  bool has_linear_layers() const;
  DeltaNetOptions delta_net() const;

  AttentionOptions attention() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  void require_tensor_parallel(int ranks) const override;
  void require_context_parallel(int ranks) const override;
  // A delta net in linear layers.
  std::shared_ptr<Attention> make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                            std::int64_t index) const override;
  void validate(const std::string& where) const override;
  const ModelKeys& keys() const override;
  bool peft_takes_projections() const override { return true; }
  // Also the weights of multi-token prediction, which transformers does not read either.
  std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const override;

  bool operator==(const Qwen3NextConfig&) const = default;

 protected:
  std::vector<std::string> tensors_outside_mlp(std::int64_t layer) const override;
};

}  // namespace d9d
