#pragma once
// The options of Muon, as plain values; its keys stand in runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/parameter_role.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

// How far a step of Muon goes in a matrix [R, C]: lr times this and the orthogonalised momentum.
//   original         sqrt(max(1, R / C)), Jordan and others 2024
//   match_rms_adamw  0.2 sqrt(max(R, C)): as far as AdamW does (Liu and others 2025, "Muon is Scalable for LLM
//                    Training", section 2.2), so that learning rate and decay of AdamW serve
enum class MuonScale { original, match_rms_adamw };

// Momentum, orthogonalised (newton_schulz.hpp), for weights that are matrices; experts one by one. AdamW for all
// others: vectors, and embeddings and output layers or, in their place, what `adamw_for` names.
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
// Whether Muon updates the matrices of a parameter of this name, global shape and role.
bool is_muon_matrix(const MuonOptions& options, const std::string& name,
                    const std::vector<std::int64_t>& shape, ParameterRole role);

}  // namespace d9d
