#pragma once
// What a job with the task `generation` may be. No torch.

#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// A job that trains, a mesh whose ranks cannot generate together, a model without logits, samples that leave
// no room. `model` as validate() has it.
std::vector<JobIssue> generation_issues(const JobConfig& job, const FamilyModel* model);

}  // namespace d9d
