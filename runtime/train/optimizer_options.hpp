#pragma once
// What an optimizer is, as plain values (reference A.6; OPT-01, OPT-05). No torch in this header.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace d9d {

struct AdamOptions {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decoupled_weight_decay = true;  // AdamW; false: Adam, decay is added to the gradient
  bool amsgrad = false;
  bool maximize = false;
};

struct SgdOptions {
  double lr = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};

// AdamW for bf16 parameters: fp32 arithmetic, results rounded stochastically. The noise is a function of
// (seed, step, parameter, global element): the same on every mesh and after a resume (W-29).
struct StochasticAdamWOptions {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool bfloat16_state = false;  // else fp32
  std::uint64_t seed = 0;
};

using OptimizerOptions = std::variant<AdamOptions, SgdOptions, StochasticAdamWOptions>;

// Settings of the parameters whose global name matches (W-12): `*` any run of characters, `?` one. The first
// rule that matches counts; none: the optimizer's own settings.
struct ParameterRule {
  std::string pattern;
  std::optional<double> weight_decay;
  double lr_factor = 1;
};

struct UpdateScale {
  double lr_multiplier = 1;  // of the schedule
  double grad = 1;           // every gradient is multiplied by it: StepScale::grad
};

// Input errors with the key and what is allowed.
void validate(const OptimizerOptions& options);

}  // namespace d9d
