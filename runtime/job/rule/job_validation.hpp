#pragma once
// What single keys cannot say: whether they fit each other, and whether this version can do it at all.

#include <optional>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// `model` describes a built-in model; null for a plugin's.
std::vector<JobIssue> validate(const JobConfig& job, const FamilyModel* model);
// Keys that the job's other keys leave without any effect:
// `what` says why. Worth a warning where the file gives them.
std::vector<JobIssue> without_effect(const JobConfig& job);
// Features that the config knows and this version does not
// train with; each is refused by name. See job_support.cpp.
std::vector<JobIssue> unsupported(const JobConfig& job);

// Keys whose values work and lose something that their user may not expect; each is a warning. `model` as above.
std::vector<JobIssue> cautions(const JobConfig& job, const FamilyModel* model);
// The one about parameters of 16 bits without master weights; none if the optimizer loses no update of them.
std::optional<JobIssue> lost_updates(const OptimizerOptions& optimizer, Dtype parameters);

}  // namespace d9d
