#pragma once
// A job either trains or infers: which sections it has then, and what they are called in its file.

#include "runtime/base/config/parse.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// Errors where a section is missing or has nothing to do. Fills `job.trainer` where the job infers.
void settle_mode(JobConfig& job, const config::Node& root, config::Problems& problems);

// An issue of `trainer` is one of `inference` where that is in its place.
JobIssue as_in_file(JobIssue issue, const JobConfig& job);

}  // namespace d9d
