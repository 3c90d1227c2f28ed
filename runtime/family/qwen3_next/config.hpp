#pragma once
// A Qwen3-Next causal language model: gated delta nets, attention with an output gate in some layers, routed
// experts and a gated shared one, zero-centred norms. Options with the names Hugging Face gives them, defaults
// those of transformers 5.23 (Qwen3NextConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct Qwen3NextConfig final : SparseDecoder {
  Qwen3NextConfig() { zero_centered_norms = true; }

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
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  std::string config_json() const override;
  // Also the weights of multi-token prediction, which transformers does not read either.
  std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const override;

  bool operator==(const Qwen3NextConfig&) const = default;

 protected:
  std::vector<std::string> tensors_outside_mlp(std::int64_t layer) const override;
};

Qwen3NextConfig read_qwen3_next_config(const JsonReader& in);
// Input error that names the first impossible value; `where` leads the text.
void validate(const Qwen3NextConfig& config, const std::string& where);

}  // namespace d9d
