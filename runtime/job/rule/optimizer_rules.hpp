#pragma once
// What `optimizer.rules` make of a model's parameters: for `d9d-node check`, and to find rules that say nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// Parameters that are updated with the same settings.
struct OptimizerGroup {
  ParameterSettings settings;
  std::string by;  // "muon", "adamw_8bit" or "adamw", where one optimizer is two
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::vector<std::string> examples;  // names of the first two
};

// In the order of the model. Nothing for an optimizer of a plugin.
std::vector<OptimizerGroup> optimizer_groups(const JobConfig& job, const FamilyModel& model);

// Rules that no parameter of the model takes its settings from: a pattern without a match, or one whose matches
// all go to rules before it.
std::vector<JobIssue> rule_issues(const JobConfig& job, const FamilyModel& model);
// The same for parameters of these names, in the order of the model.
std::vector<JobIssue> rule_issues(const std::vector<ParameterRule>& rules,
                                  const std::vector<std::string>& parameters);

}  // namespace d9d
