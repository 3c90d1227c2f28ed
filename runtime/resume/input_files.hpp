#pragma once
// The files and folders that a job reads, as far as its file names them. Looks at the disk, for patterns and folders.

#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

// Of a section `data`, in the order in which they are read. Of a plugin's source: the files that its keys name. What
// cannot be found is left out: who reads it says so.
std::vector<std::string> data_files(const DataConfig& data);
// The weights in a model's folder and how they are to be read (config.json); of an adapter's: its two files. Sorted.
std::vector<std::string> model_files_in(const std::string& folder);
// The adapters that the job's model begins with.
std::vector<std::string> adapter_folders(const JobConfig& job);

// A file or folder that the job reads, and the key that names it.
struct JobInput {
  std::string key, path;
};
std::vector<JobInput> inputs_of(const JobConfig& job);

}  // namespace d9d
