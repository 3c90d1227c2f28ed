#pragma once
// What a job may ask of the heads of its model. No torch.

#include <cstdint>
#include <optional>
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
// How many classes the labels of a job that trains choose from. Nothing: they are no classes, or a task of a plugin
// says what they are.
std::optional<std::int64_t> num_classes(const JobConfig& job, const FamilyModel& model);

}  // namespace d9d
