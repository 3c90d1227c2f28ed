#pragma once
// The tracker runs of a job: metrics.jsonl always, and what trainer.logging asks for.

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {

// Input error that says how to install it: a tracker's client is missing. Starts a Python for each that has one.
void require_tracker_clients(const JobConfig& job);

// `last_step`: of the checkpoint that is resumed, 0 for a fresh run. Clock and watch outlive the runs; every call to
// them is watched for a disk that hangs, but those of plugins' trackers (tracker_thread.hpp).
std::vector<std::unique_ptr<TrackerRun>> open_tracker_runs(const JobConfig& job, const Registry& registry,
                                                           std::uint64_t last_step,
                                                           const nlohmann::json& hparams, const Clock& clock,
                                                           DiskWatch& watch);

}  // namespace d9d
