#pragma once
// A folder that is written must not be one that is read: an export over the model that it was made from would be the
// source of the next start. Looks at the disk, so that links and `..` hide nothing.

#include <string>

#include "runtime/job/job_config.hpp"

namespace d9d {

// Input error where `written` (of the key or option `key`) is the folder `read`, contains it, or is inside of it.
void require_apart(const std::string& key, const std::string& written, const std::string& whose,
                   const std::string& read);
// The same of all that the job reads, and of its checkpoints.
void require_own_folder(const std::string& key, const std::string& written, const JobConfig& job);
// Input error where `written` is the folder of a checkpoint, or is inside of it.
void require_outside(const std::string& key, const std::string& written, const std::string& checkpoint);
// Of an inference job: its results are no data of its own.
void require_own_results(const JobConfig& job);

}  // namespace d9d
