#pragma once
// Whether the device and the model allow the code that a job chose for attention and for the products of experts.
// No torch.

#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// `chosen` may be the environment's instead of the job file's. `model`: null for a plugin's, whose shapes only the
// first step shows. What the processor lacks is not among these: `check` may run on another machine.
std::vector<JobIssue> backend_issues(const kernels::Backends& chosen, const JobConfig& job,
                                     const FamilyModel* model);

}  // namespace d9d
