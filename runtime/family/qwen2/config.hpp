#pragma once
// A Qwen2 causal language model, dense, with biases on q, k and v: options with the names Hugging Face gives
// them, defaults those of transformers 5.23 (Qwen2Config). No torch.

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

struct Qwen2Config final : DenseDecoder {
  AttentionOptions attention() const override;
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  std::string config_json() const override;

  bool operator==(const Qwen2Config&) const = default;
};

Qwen2Config read_qwen2_config(const JsonReader& in);

}  // namespace d9d
