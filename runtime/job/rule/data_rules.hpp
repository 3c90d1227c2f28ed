#pragma once
// Whether the sources of a job's data fit its model and each other, as far as the job file alone can tell.

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// `model` is null for a plugin's.
std::vector<JobIssue> data_issues(const JobConfig& job, const FamilyModel* model);

}  // namespace d9d
