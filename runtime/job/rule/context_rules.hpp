#pragma once
// Whether sequences fit the model's positions and can be shared
// by context- and tensor-parallel ranks, and heads by Ulysses.

#include <cstdint>
#include <string>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// Lengths of sequences that the context- and tensor-parallel ranks of the mesh can share are multiples of this.
std::int64_t sequence_unit(const JobConfig& job);
// Everything that is wrong with sequences of `length`, which comes from key `key`.
std::vector<JobIssue> sequence_issues(const JobConfig& job, const FamilyModel* model, const std::string& key,
                                      std::int64_t length);
// The first of them as an input error, for the job's data; nothing where it fits.
void require_sequence(const JobConfig& job, const FamilyModel* model, std::int64_t length);

// All that the job file alone can tell.
std::vector<JobIssue> context_issues(const JobConfig& job, const FamilyModel* model);

}  // namespace d9d
