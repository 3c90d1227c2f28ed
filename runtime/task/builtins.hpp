#pragma once
// The models and tasks that come with d9d, line by line.

#include <memory>

#include "runtime/state/disk.hpp"
#include "runtime/task/job_load.hpp"
#include "runtime/task/registry.hpp"

namespace d9d {

// `loaded` and `disk` outlive what the registry makes.
Registry builtin_registry(const LoadedJob& loaded, Disk& disk);
// What the job file names.
std::shared_ptr<const ModelProvider> make_model(const Registry& registry, const JobConfig& job);
std::shared_ptr<TrainTask> make_task(const Registry& registry, const JobConfig& job);

}  // namespace d9d
