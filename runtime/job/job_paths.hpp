#pragma once
// Where a run leaves its files. Nothing here touches the disk.

#include <filesystem>

#include "runtime/job/job_config.hpp"

namespace d9d {

std::filesystem::path output_dir(const JobConfig& job);  // runs/<run name>
// <save_dir>/<run name>, as in the original: jobs may share a save_dir. Without one: <output_dir>/checkpoints.
std::filesystem::path checkpoint_dir(const JobConfig& job);
bool writes_checkpoints(const JobConfig& job);  // periodic ones, or the one that an export is made from
std::filesystem::path traces_dir(const JobConfig& job);
std::filesystem::path metrics_file(const JobConfig& job);
std::filesystem::path trackers_dir(const JobConfig& job);        // what bridges to trackers read and remember
std::filesystem::path log_file(const JobConfig& job, int node);  // of one process
std::filesystem::path results_dir(const JobConfig& job);         // of an inference job
std::filesystem::path tensorboard_dir(const JobConfig& job, const TensorboardTracker& tracker);

}  // namespace d9d
