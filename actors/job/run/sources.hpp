#pragma once
// Where a job's data comes from, for training and evaluation, and how long they make it. No torch.

#include "actors/job/process/prepared_job.hpp"
#include "actors/job/run/findings.hpp"
#include "actors/job/run/process_options.hpp"

namespace d9d {

// Opens the sources, looks at their samples, and counts the job's steps from where a start goes on. On node 0 it takes
// the files of the tokenizer, too.
void open_sources(const LoadedJob& loaded, const RunOptions& options, Disk& disk, PreparedJob& prepared,
                  Findings& findings);

}  // namespace d9d
