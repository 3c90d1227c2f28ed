#pragma once
// Where a run leaves its files. Nothing here touches the disk.

#include <filesystem>

#include "runtime/task/job_config.hpp"

namespace d9d {

std::filesystem::path output_dir(const JobConfig& job);  // runs/<run name>
std::filesystem::path checkpoint_dir(const JobConfig& job);
std::filesystem::path traces_dir(const JobConfig& job);
std::filesystem::path metrics_file(const JobConfig& job);
std::filesystem::path tensorboard_dir(const JobConfig& job, const TensorboardTracker& tracker);

}  // namespace d9d
