#pragma once
// What an optimizer is, as plain values (reference A.6; OPT-01, OPT-05): section `optimizer` of the job file,
// whose keys stand in runtime/job/section/optimizer_config.hpp. No torch in this header.

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
  bool decoupled_weight_decay = false;  // as AdamW; false: decay is added to the gradient
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
  double grad = 1;           // every gradient is multiplied by it: StepScale::grad
};

// Input errors with the key and what is allowed.
void validate(const OptimizerOptions& options);

// Whether it keeps parameters of 16 bits in float32 besides, updates those and rounds them into the
// parameters: what is smaller than a parameter's last digit then adds up instead of being lost.
bool keeps_masters(const OptimizerOptions& options, Dtype parameters);
// Bytes of its state for each element of a parameter of that type, masters included. Of Muon: of those that AdamW
// updates; a matrix has one moment less. Of AdamW with bytes: of the parameters that have them, without scales.
std::int64_t state_bytes(const OptimizerOptions& options, Dtype parameters);
// The same of what a checkpoint takes.
std::int64_t saved_state_bytes(const OptimizerOptions& options, Dtype parameters);

// What the rules are tried on, and what holds where none matches.
const std::vector<ParameterRule>& rules_of(const OptimizerOptions& options);
double weight_decay_of(const OptimizerOptions& options);

}  // namespace d9d
