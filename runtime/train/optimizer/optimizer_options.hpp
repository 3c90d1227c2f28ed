#pragma once
// The options of optimizers, as plain values (reference A.6; OPT-01, OPT-05): section `optimizer` of the job
// file. The keys are in runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/tensor/dtype.hpp"
#include "runtime/tensor/parameter_role.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

// Adam with decoupled weight decay.
struct AdamWOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool maximize = false;
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};

struct AdamOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decoupled_weight_decay = false;  // true: as AdamW; false: decay is added to the gradient
  bool amsgrad = false;
  bool maximize = false;
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};

struct SgdOptions {
  double lr = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};

// AdamW for bf16 parameters: fp32 arithmetic, results rounded stochastically. The noise is a function of
// (seed, step, parameter, global element): the same on every mesh and after a resume (W-29).
struct StochasticAdamWOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  Dtype state_dtype = Dtype::float32;  // or bfloat16
  std::vector<ParameterRule> rules;
};

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

// Both moments of a parameter are stored as bytes, in blocks with one scale each
// (kernels/optimizer/block_quantization.hpp). Updates read them into float32. Small parameters, and those that
// `float32_for` names, have float32 moments.
struct AdamW8BitOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::int64_t block_size = 2048;  // elements per scale; each rank cuts its part of a parameter into blocks
  std::int64_t float32_below = 4096;     // whole parameters with fewer elements have float32 moments
  std::vector<std::string> float32_for;  // patterns as in rules
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};
// Whether the moments of a parameter with this name and global shape are stored as bytes.
bool has_byte_moments(const AdamW8BitOptions& options, const std::string& name,
                      const std::vector<std::int64_t>& shape);

using OptimizerOptions = std::variant<AdamWOptions, AdamOptions, SgdOptions, StochasticAdamWOptions,
                                      MuonOptions, AdamW8BitOptions>;

struct UpdateScale {
  double lr_multiplier = 1;  // of the schedule
  double grad = 1;           // multiplies every gradient: StepScale::grad
  int update = 0;            // of those of a step
};

// Input error, with the key and the allowed values, for an impossible option.
void validate(const OptimizerOptions& options);

// Whether the optimizer has float32 masters for parameters of this dtype. It updates the masters and rounds
// them into the parameters, so that updates below a parameter's last digit add up instead of being lost.
bool keeps_masters(const OptimizerOptions& options, Dtype parameters);
// Bytes of state per element of a parameter of this dtype, masters included. For Muon: of
// parameters that AdamW updates (a matrix has one moment less). For AdamW with bytes: of parameters
// with byte moments, without the scales.
std::int64_t state_bytes(const OptimizerOptions& options, Dtype parameters);
// The same for the state in a checkpoint.
std::int64_t saved_state_bytes(const OptimizerOptions& options, Dtype parameters);

// The rules for single parameters, and the weight decay of parameters that no rule matches.
const std::vector<ParameterRule>& rules_of(const OptimizerOptions& options);
double weight_decay_of(const OptimizerOptions& options);

}  // namespace d9d
