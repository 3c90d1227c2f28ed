#pragma once
// Patterns of parameter names in a job file, held against the names of the model's trainable parameters.

#include <map>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// With adapters, without what they leave frozen; in the order of the model.
std::vector<StageParameter> trainable_parameters(const JobConfig& job, const FamilyModel& model);

// That of the key `path` fits none of `names`, and the nearest of them.
JobIssue issue_of_no_match(const std::string& path, const std::string& pattern,
                           const std::vector<std::string>& names);

// By the paths of their keys: the groups of trainer.logging.statistics, and the `match` of hooks `clip_value`.
std::map<std::string, std::string> parameter_patterns(const JobConfig& job);
// Those that fit none of `names`.
std::vector<JobIssue> pattern_issues(const std::map<std::string, std::string>& patterns,
                                     const std::vector<std::string>& names);
// Those of the job that fit no trainable parameter.
std::vector<JobIssue> pattern_issues(const JobConfig& job, const FamilyModel& model);

}  // namespace d9d
