#pragma once
// Whether sequences can be shared by context- and tensor-parallel ranks, and heads by Ulysses.

#include <cstdint>
#include <string>

#include "runtime/task/job_validation.hpp"

namespace d9d {

// Sequences of `length`, which comes from key `key`.
std::optional<JobIssue> sequence_issue(const JobConfig& job, const std::string& key, std::int64_t length);
// The same of the job's data as an input error; nothing where it fits.
void require_sequence(const JobConfig& job, std::int64_t length);
// sample_length() of the job's data, which has to fit.
std::optional<std::int64_t> required_sample_length(const JobConfig& job);

// All that the job file alone can tell.
std::vector<JobIssue> context_issues(const JobConfig& job, const ModelDescription* model);

}  // namespace d9d
