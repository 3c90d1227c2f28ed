#pragma once
// A Qwen2-MoE causal language model: routed experts and a gated shared one, biases on q, k and v. Defaults are
// those of transformers 5.23 (Qwen2MoeConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct Qwen2MoeConfig final : SparseDecoder {
  Qwen2MoeConfig();

  bool qkv_bias = true;

  AttentionOptions attention() const override;
  const ModelKeys& keys() const override;

  bool operator==(const Qwen2MoeConfig&) const = default;
};

}  // namespace d9d
