#include "runtime/job/rule/optimizer_rules.hpp"

#include <algorithm>
#include <set>

#include "runtime/base/count.hpp"
#include "runtime/job/rule/parameter_patterns.hpp"

namespace d9d {
namespace {

// Why no parameter follows the rule.
JobIssue issue_of(std::size_t index, const ParameterRule& rule, const std::vector<std::string>& parameters) {
  const std::string path = fmt::format("optimizer.rules.{}.match", index);
  const auto matched = std::count_if(parameters.begin(), parameters.end(),
                                     [&](const std::string& name) { return rule_for(name, {rule}); });
  if (matched > 0) {
    return {path,
            fmt::format("\"{}\" matches {}, but rules before it match the same", rule.match,
                        counted(matched, "parameter")),
            "put it before them, or leave it out"};
  }
  return issue_of_no_match(path, rule.match, parameters);
}

std::string updated_by(const OptimizerOptions& optimizer, const StageParameter& parameter) {
  const std::vector<std::int64_t>& shape = parameter.layout.global_shape();
  if (const auto* muon = std::get_if<MuonOptions>(&optimizer))
    return is_muon_matrix(*muon, parameter.name, shape, parameter.role) ? "muon" : "adamw";
  if (const auto* packed = std::get_if<AdamW8BitOptions>(&optimizer))
    return has_byte_moments(*packed, parameter.name, shape) ? "adamw_8bit" : "adamw";
  return {};
}

}  // namespace

std::vector<OptimizerGroup> optimizer_groups(const JobConfig& job, const FamilyModel& model) {
  const auto optimizer = known_optimizer(job.optimizer);
  std::vector<OptimizerGroup> groups;
  if (!optimizer) return groups;
  for (const StageParameter& parameter : trainable_parameters(job, model)) {
    const ParameterSettings settings =
        settings_of(parameter.name, rules_of(*optimizer), weight_decay_of(*optimizer));
    const std::string by = updated_by(*optimizer, parameter);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const OptimizerGroup& other) {
      return other.settings == settings && other.by == by;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {settings, by, 0, 0, {}});
    ++group->tensors;
    group->elements += parameter.tensor.numel();
    if (group->examples.size() < 2) group->examples.push_back(parameter.name);
  }
  return groups;
}

std::vector<JobIssue> rule_issues(const std::vector<ParameterRule>& rules,
                                  const std::vector<std::string>& parameters) {
  std::set<std::size_t> used;
  for (const std::string& name : parameters) {
    if (const auto rule = rule_for(name, rules)) used.insert(*rule);
  }
  std::vector<JobIssue> issues;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!used.contains(i) && rules[i].match != norms_and_biases)
      issues.push_back(issue_of(i, rules[i], parameters));
  }
  return issues;
}

std::vector<JobIssue> rule_issues(const JobConfig& job, const FamilyModel& model) {
  const auto optimizer = known_optimizer(job.optimizer);
  if (!optimizer || rules_of(*optimizer).empty()) return {};
  std::vector<std::string> names;
  for (const StageParameter& parameter : trainable_parameters(job, model)) names.push_back(parameter.name);
  return rule_issues(rules_of(*optimizer), names);
}

}  // namespace d9d
