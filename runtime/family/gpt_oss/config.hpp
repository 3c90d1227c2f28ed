#pragma once
// A GPT-OSS causal language model (arXiv 2508.10925): experts in every layer, of a clamped SwiGLU and with biases,
// attention with sinks and with windows in every other layer. Defaults are those of transformers 5.23 (GptOssConfig).
// No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct GptOssConfig final : SparseDecoder {
  GptOssConfig();

  bool attention_bias = true;
  double swiglu_alpha = 1.702;
  double swiglu_limit = 7.0;

  AttentionOptions attention() const override;
  MoeOptions moe() const override;
  const ModelKeys& keys() const override;
  void settle() override { moe_intermediate_size = intermediate_size; }
  void validate(const std::string& where) const override;

  bool operator==(const GptOssConfig&) const = default;

 protected:
  StoredNames names_in(const std::set<std::string>& stored) const override;
  StoredNames names_of_export() const override;
};

}  // namespace d9d
