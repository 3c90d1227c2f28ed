#pragma once
// Opens the run of a tracker from a choice.

#include <filesystem>
#include <memory>
#include <variant>

#include "runtime/base/clock.hpp"
#include "runtime/metric/bridge/bridge_run.hpp"
#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

// The destinations of a run.
struct NullTarget {};
struct LogTarget {};
struct JsonlTarget {
  std::filesystem::path path;
};
struct TensorboardTarget {
  std::filesystem::path log_dir;
  std::string host;
};
using TrackerTarget = std::variant<NullTarget, LogTarget, JsonlTarget, TensorboardTarget, BridgeOptions>;

// Opens a run. `last_step` is the step of the checkpoint that is resumed, 0 for a fresh run; later
// steps of an earlier attempt are removed. The clock must outlive the run.
std::unique_ptr<TrackerRun> open_tracker(const TrackerTarget& target, std::int64_t last_step,
                                         const Clock& clock);

}  // namespace d9d
