#pragma once
// A Mixtral causal language model (Jiang et al. 2024, arXiv 2401.04088), all layers with experts: options
// with the names Hugging Face gives them, defaults those of transformers 5.23 (MixtralConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct MixtralConfig final : SparseDecoder {
  std::string config_json() const override;

  bool operator==(const MixtralConfig&) const = default;

 protected:
  StoredNames names_in(const std::set<std::string>& stored) const override;
  StoredNames names_of_export() const override;
};

MixtralConfig read_mixtral_config(const JsonReader& in);

}  // namespace d9d
