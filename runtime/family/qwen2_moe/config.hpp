#pragma once
// A Qwen2-MoE causal language model: routed experts and a gated shared one, biases on q, k and v. Options
// with the names Hugging Face gives them, defaults those of transformers 5.23 (Qwen2MoeConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct Qwen2MoeConfig final : SparseDecoder {
  bool qkv_bias = true;

  AttentionOptions attention() const override;
  std::string config_json() const override;
  bool peft_reads_adapters_of_experts() const override { return false; }

  bool operator==(const Qwen2MoeConfig&) const = default;
};

Qwen2MoeConfig read_qwen2_moe_config(const JsonReader& in);

}  // namespace d9d
