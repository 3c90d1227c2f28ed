#pragma once
// A Mixtral causal language model (Jiang et al. 2024, arXiv 2401.04088), all layers with experts. Defaults are
// those of transformers 5.23 (MixtralConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct MixtralConfig final : SparseDecoder {
  MixtralConfig();

  const ModelKeys& keys() const override;
  bool peft_takes_projections() const override { return true; }
  void settle() override { moe_intermediate_size = intermediate_size; }

  bool operator==(const MixtralConfig&) const = default;

 protected:
  StoredNames names_in(const std::set<std::string>& stored) const override;
  StoredNames names_of_export() const override;
};

}  // namespace d9d
