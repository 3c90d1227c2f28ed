#include "runtime/job/rule/parameter_patterns.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/config/problems.hpp"
#include "runtime/job/rule/peft_rules.hpp"

namespace d9d {

std::vector<StageParameter> trainable_parameters(const JobConfig& job, const FamilyModel& model) {
  std::vector<StageParameter> parameters = adapted_parameters(job, model);
  std::erase_if(parameters,
                [](const StageParameter& parameter) { return !parameter.tensor.requires_grad(); });
  return parameters;
}

JobIssue issue_of_no_match(const std::string& path, const std::string& pattern,
                           const std::vector<std::string>& names) {
  std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = config::nearest(pattern, known);
  known.resize(std::min<std::size_t>(known.size(), 3));
  return {path, fmt::format("\"{}\" matches no parameter of the model", pattern),
          near.empty()
              ? fmt::format("they are called {}, ...; `*` is any part of a name", fmt::join(known, ", "))
              : fmt::format("did you mean \"{}\"?", near)};
}

std::map<std::string, std::string> parameter_patterns(const JobConfig& job) {
  std::map<std::string, std::string> patterns;
  for (const auto& [group, pattern] : job.trainer.logging.statistics)
    patterns["trainer.logging.statistics." + group] = pattern;
  for (std::size_t i = 0; i < job.gradient_hooks.size(); ++i) {
    const config::Named& hook = job.gradient_hooks[i];
    if (hook.name != "clip_value") continue;  // a plugin's: only it knows what its keys mean
    const config::Node* match = hook.options.node.find("match");
    if (match != nullptr && match->kind == config::Node::Kind::scalar)
      patterns[fmt::format("gradient_hooks.{}.match", i)] = match->text;
  }
  return patterns;
}

std::vector<JobIssue> pattern_issues(const std::map<std::string, std::string>& patterns,
                                     const std::vector<std::string>& names) {
  std::vector<JobIssue> issues;
  for (const auto& [path, pattern] : patterns) {
    const auto fits = [&pattern = pattern](const std::string& name) { return matches(pattern, name); };
    if (std::none_of(names.begin(), names.end(), fits))
      issues.push_back(issue_of_no_match(path, pattern, names));
  }
  return issues;
}

std::vector<JobIssue> pattern_issues(const JobConfig& job, const FamilyModel& model) {
  const auto patterns = parameter_patterns(job);
  if (patterns.empty()) return {};
  std::vector<std::string> names;
  for (const StageParameter& parameter : trainable_parameters(job, model)) names.push_back(parameter.name);
  return pattern_issues(patterns, names);
}

}  // namespace d9d
