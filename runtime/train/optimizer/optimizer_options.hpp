#pragma once
// The options of optimizers, as plain values (reference A.6; OPT-01, OPT-05): section `optimizer` of the job
// file. The keys are in runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/tensor/dtype.hpp"
#include "runtime/train/optimizer/adamw_8bit_options.hpp"
#include "runtime/train/optimizer/muon_options.hpp"
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
