#pragma once
// Settings of single parameters, by their names (W-12): `optimizer.rules` of the job file. No torch.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

// Of the parameters whose whole global name matches ("model.layers.3.input_layernorm.weight"): `*` is any run
// of characters, `?` one. The first rule that matches counts; where none does, the optimizer's own settings.
inline constexpr std::string_view norms_and_biases =
    "norms_and_biases";  // a `match` of all of these, also of none
struct ParameterRule {
  std::string match;
  std::optional<double> weight_decay;               // none: the optimizer's
  double lr_multiplier = 1;                         // besides the schedule's
  std::optional<std::array<double, 2>> betas = {};  // none: the optimizer's; of those that have them
};

// What holds for a parameter after the rules.
struct ParameterSettings {
  double lr_multiplier = 1;
  double weight_decay = 0;
  std::optional<std::array<double, 2>> betas = {};
  bool operator==(const ParameterSettings&) const = default;
};

// Index of the first rule that matches.
std::optional<std::size_t> rule_for(const std::string& name, const std::vector<ParameterRule>& rules);
ParameterSettings settings_of(const std::string& name, const std::vector<ParameterRule>& rules,
                              double weight_decay);
bool matches(const std::string& pattern, const std::string& name);

// Input errors with the key and what is allowed.
void check_rules(const std::vector<ParameterRule>& rules);

}  // namespace d9d
