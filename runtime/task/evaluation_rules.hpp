#pragma once
// Whether the samples of an evaluation fit the model and the mesh as those of training do, as far as the job file
// alone can tell.

#include "runtime/task/job_validation.hpp"

namespace d9d {

// `model` is null for a plugin's. Nothing where the job evaluates nothing.
std::vector<JobIssue> evaluation_issues(const JobConfig& job, const FamilyModel* model);

}  // namespace d9d
