#pragma once
// A Mistral causal language model, with one sliding window for all layers or none: options with the names
// Hugging Face gives them, defaults those of transformers 5.23 (MistralConfig). No torch.

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

struct MistralConfig final : DenseDecoder {
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  std::string config_json() const override;

  bool operator==(const MistralConfig&) const = default;
};

MistralConfig read_mistral_config(const JsonReader& in);

}  // namespace d9d
