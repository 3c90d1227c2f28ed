#pragma once
// Refuses to write to a folder that the job reads: an export over the model from which the job started would
// be the source of its next start. Follows links and `..` on the disk.

#include <string>

#include "runtime/job/job_config.hpp"

namespace d9d {

// Input error when `written` (of the key or option `key`) is the folder `read`,
// contains it, or is inside of it.
void require_apart(const std::string& key, const std::string& written, const std::string& whose,
                   const std::string& read);
// Input error when the file that is written is one that is read.
void require_other_file(const std::string& option, const std::string& written, const std::string& whose,
                        const std::string& read);
// The same as require_apart() for all files and folders that the job reads, and for its checkpoints.
void require_own_folder(const std::string& key, const std::string& written, const JobConfig& job);
// Input error when `written` is the folder of a checkpoint, or is inside of it.
void require_outside(const std::string& key, const std::string& written, const std::string& checkpoint);
// Input error when a data file of an inference job is in the folder of its
// results, which the job would replace.
void require_own_results(const JobConfig& job);

}  // namespace d9d
