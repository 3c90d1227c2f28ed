#pragma once
// Whether the samples of an evaluation fit model and mesh as those of training do: what the job file alone tells.

#include "runtime/task/job_validation.hpp"

namespace d9d {

// `model` is null for a plugin's. Nothing where the job evaluates nothing.
std::vector<JobIssue> evaluation_issues(const JobConfig& job, const FamilyModel* model);

}  // namespace d9d
