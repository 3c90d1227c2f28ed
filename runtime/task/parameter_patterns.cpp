#include "runtime/task/parameter_patterns.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/config/problems.hpp"
#include "runtime/task/peft_rules.hpp"

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

std::vector<JobIssue> statistics_issues(const JobConfig& job, const FamilyModel& model) {
  std::vector<JobIssue> issues;
  if (job.trainer.logging.statistics.empty()) return issues;
  std::vector<std::string> names;
  for (const StageParameter& parameter : trainable_parameters(job, model)) names.push_back(parameter.name);
  for (const auto& [group, pattern] : job.trainer.logging.statistics) {
    const auto fits = [&pattern = pattern](const std::string& name) { return matches(pattern, name); };
    if (std::any_of(names.begin(), names.end(), fits)) continue;
    issues.push_back(issue_of_no_match("trainer.logging.statistics." + group, pattern, names));
  }
  return issues;
}

}  // namespace d9d
