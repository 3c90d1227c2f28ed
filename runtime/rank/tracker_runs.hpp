#pragma once
// The tracker runs of a job: metrics.jsonl always, and what trainer.logging asks for.

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/metric/tracker.hpp"
#include "runtime/task/job_config.hpp"

namespace d9d {

// `last_step`: of the checkpoint that is resumed, 0 for a fresh run. The clock outlives the runs.
std::vector<std::unique_ptr<TrackerRun>> open_tracker_runs(const JobConfig& job, std::uint64_t last_step,
                                                           const nlohmann::json& hparams, const Clock& clock);

}  // namespace d9d
