#pragma once
// The options of Muon, as plain values. The keys are in
// runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/parameter_role.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

// The factor of a step in a matrix [R, C]: the step is lr times this factor
// times the orthogonalised momentum.
//   original         sqrt(max(1, R / C)), Jordan and others 2024
//   match_rms_adamw  0.2 sqrt(max(R, C)): steps of AdamW's size, so that its learning rate and decay can be
//                    used (Liu and others 2025, "Muon is Scalable for LLM Training", section 2.2)
enum class MuonScale { original, match_rms_adamw };

// Weights that are matrices (each expert's by itself) are updated with orthogonalised momentum
// (newton_schulz.hpp). All others are updated by AdamW: vectors, embeddings and output layers. `adamw_for`
// replaces embeddings and output layers by the matrices that it names.
struct MuonOptions {
  double lr = 0;
  double momentum = 0.95;
  bool nesterov = true;
  int newton_schulz_steps = 5;
  MuonScale scale = MuonScale::original;
  double weight_decay = 0.1;
  std::optional<double> adamw_lr;  // none: lr
  std::array<double, 2> adamw_betas = {0.9, 0.95};
  double adamw_eps = 1e-8;
  std::optional<std::vector<std::string>> adamw_for;  // patterns as in rules; none: embeddings and outputs
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};
// Whether a parameter with this name, global shape and role is updated by Muon, not by AdamW.
bool is_muon_matrix(const MuonOptions& options, const std::string& name,
                    const std::vector<std::int64_t>& shape, ParameterRole role);

}  // namespace d9d
