#pragma once
// Whether the samples of an evaluation fit model and mesh as those of training do: what the job file alone tells.

#include <optional>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"
#include "runtime/job/section/evaluation_config.hpp"

namespace d9d {

// `model` is null for a plugin's. Nothing where the job evaluates nothing.
std::vector<JobIssue> evaluation_issues(const JobConfig& job, const FamilyModel* model);

// Of what evaluation.metric names: as the job says, or as its name tells. Nothing where neither does.
std::optional<bool> higher_is_better(const EvaluationConfig& evaluation);

}  // namespace d9d
