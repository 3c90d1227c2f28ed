#pragma once
// What a job may ask of the heads of its model. No torch.

#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// A built-in task that the head does not serve, a head that cannot be exported, a summary of hidden states over
// shared sequences, losses on the routing beside no loss of tokens.
std::vector<JobIssue> head_issues(const JobConfig& job, const FamilyModel& model);
// Its only head has one label, whose score learns a number.
bool is_regression(const FamilyModel& model);

}  // namespace d9d
