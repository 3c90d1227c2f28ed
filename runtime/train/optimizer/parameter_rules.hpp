#pragma once
// Settings of single parameters, by their names (W-12): `optimizer.rules` of the job file. No torch.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

// A `match` for all norms and biases. It is no error when the model has none.
inline constexpr std::string_view norms_and_biases = "norms_and_biases";
// Settings for the parameters whose whole global name matches (for example
// "model.layers.3.input_layernorm.weight"): `*` is any run of characters, `?` one. The first rule that
// matches a parameter counts. A parameter that no rule matches has the optimizer's own settings.
struct ParameterRule {
  std::string match;
  std::optional<double> weight_decay;               // none: the optimizer's
  double lr_multiplier = 1;                         // in addition to the schedule's
  std::optional<std::array<double, 2>> betas = {};  // none: the optimizer's. For optimizers with betas
};

// The settings of a parameter after the rules.
struct ParameterSettings {
  double lr_multiplier = 1;
  double weight_decay = 0;
  std::optional<std::array<double, 2>> betas = {};
  bool operator==(const ParameterSettings&) const = default;
};

// Returns the index of the first rule that matches.
std::optional<std::size_t> rule_for(const std::string& name, const std::vector<ParameterRule>& rules);
ParameterSettings settings_of(const std::string& name, const std::vector<ParameterRule>& rules,
                              double weight_decay);
bool matches(const std::string& pattern, const std::string& name);

// Input error, with the key and the allowed values, for an impossible rule.
void check_rules(const std::vector<ParameterRule>& rules);

}  // namespace d9d
