#pragma once
// A Llama causal language model (Llama 3.x: grouped queries, RoPE of type llama3): options with the names
// Hugging Face gives them, defaults those of transformers 5.23 (LlamaConfig). No torch.

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

struct LlamaConfig final : DenseDecoder {
  bool attention_bias = false;  // biases on q, k, v and o projections

  AttentionOptions attention() const override;
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  std::string config_json() const override;

  bool operator==(const LlamaConfig&) const = default;
};

LlamaConfig read_llama_config(const JsonReader& in);

}  // namespace d9d
