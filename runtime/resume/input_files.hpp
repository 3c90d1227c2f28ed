#pragma once
// The files and folders that a job reads, as far as the job file names them. Looks at
// the disk for patterns and folders.

#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

// The last name of a path.
std::string file_name(const std::string& path);

// Returns the files of a section `data`, in the order in which they are read; for a plugin's source the
// files that its keys name. Leaves out files that do not exist: the code that reads them reports the error.
std::vector<std::string> data_files(const DataConfig& data);
// Returns the weights in a model's folder and config.json, or the two files of an adapter's folder. Sorted.
std::vector<std::string> model_files_in(const std::string& folder);
// Returns the folders of the adapters with which the job's model begins.
std::vector<std::string> adapter_folders(const JobConfig& job);

// A file or folder that the job reads, and the key that names it.
struct JobInput {
  std::string key, path;
};
std::vector<JobInput> inputs_of(const JobConfig& job);

}  // namespace d9d
