#pragma once
// Patterns of parameter names in a job file, held against the names of the model's trainable parameters.

#include <string>
#include <vector>

#include "runtime/task/job_validation.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// With adapters, without what they leave frozen; in the order of the model.
std::vector<StageParameter> trainable_parameters(const JobConfig& job, const FamilyModel& model);

// That of the key `path` fits none of `names`, and the nearest of them.
JobIssue issue_of_no_match(const std::string& path, const std::string& pattern,
                           const std::vector<std::string>& names);

// Groups of trainer.logging.statistics that no parameter belongs to,
// and hooks `clip_value` of gradient_hooks that clip no gradient.
std::vector<JobIssue> pattern_issues(const JobConfig& job, const FamilyModel& model);

}  // namespace d9d
