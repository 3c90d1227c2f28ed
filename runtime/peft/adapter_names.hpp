#pragma once
// Names of adapters in PEFT's files. Adapters of experts are stored one by one, like the modules of
// transformers 4; peft fuses them for transformers 5.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/peft/lora.hpp"
#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// A module of the Hugging Face model.
struct AdaptedModule {
  std::string path;                    // "model.layers.0.mlp.experts.3.gate_proj"
  std::optional<std::int64_t> expert;  // index into the stacked weight
};

// Returns the modules whose weights `to_hugging_face` makes of `weight` (name and whole shape). Input error
// when it makes the weight a part of another matrix, or of no module's.
std::vector<AdaptedModule> modules_of(const StateMapper& to_hugging_face, const StageParameter& weight);
// Whether there are such modules; not where a folder has the matrices of all experts in one tensor (gpt-oss).
bool has_modules(const StateMapper& to_hugging_face, const StageParameter& weight);

// The names of a module's two factors, and of the magnitudes of DoRA, in adapter_model.safetensors.
struct FactorNames {
  std::string a, b, magnitudes;
};
FactorNames factor_names(const AdaptedModule& module);

}  // namespace d9d
