#include "runtime/train/optimizer/parameter_rules.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

bool matches(const std::string& pattern, const std::string& name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string::npos;  // the last `*` seen; run_end: where its run ends in this attempt
  std::size_t run_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      run_end = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++run_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

namespace {

// norms_and_biases is recognised by the parameter names of all families.
bool follows(const ParameterRule& rule, const std::string& name) {
  if (rule.match != norms_and_biases) return matches(rule.match, name);
  return matches("*norm.weight", name) || matches("*bias", name);
}

}  // namespace

std::optional<std::size_t> rule_for(const std::string& name, const std::vector<ParameterRule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (follows(rules[i], name)) return i;
  }
  return std::nullopt;
}

ParameterSettings settings_of(const std::string& name, const std::vector<ParameterRule>& rules,
                              double weight_decay) {
  const auto index = rule_for(name, rules);
  if (!index) return {.weight_decay = weight_decay};
  const ParameterRule& rule = rules[*index];
  return {rule.lr_multiplier, rule.weight_decay.value_or(weight_decay), rule.betas};
}

void check_rules(const std::vector<ParameterRule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    D9D_REQUIRE(!rules[i].match.empty(), "optimizer.rules.{}.match is empty: give a name, `*` for any part",
                i);
    D9D_REQUIRE(rules[i].weight_decay.value_or(0) >= 0,
                "optimizer.rules.{}.weight_decay = {}: must be at least 0", i, *rules[i].weight_decay);
    D9D_REQUIRE(rules[i].lr_multiplier >= 0, "optimizer.rules.{}.lr_multiplier = {}: must be at least 0", i,
                rules[i].lr_multiplier);
    for (const double beta : rules[i].betas.value_or(std::array<double, 2>{})) {
      D9D_REQUIRE(beta >= 0 && beta < 1, "optimizer.rules.{}.betas: {} is not in [0, 1)", i, beta);
    }
  }
}

}  // namespace d9d
