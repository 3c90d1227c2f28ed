#pragma once
// The runs that exist, and the way to open one from a choice.

#include <filesystem>
#include <memory>
#include <variant>

#include "runtime/base/clock.hpp"
#include "runtime/metric/tracker.hpp"

namespace d9d {

// Where a run goes. `Unavailable` is a provider that is known by name and not built in.
struct NullTarget {};
struct LogTarget {};
struct JsonlTarget {
  std::filesystem::path path;
};
struct TensorboardTarget {
  std::filesystem::path log_dir;
  std::string host;
};
struct UnavailableTarget {
  std::string provider;  // "aim", "wandb", "mlflow"
};
using TrackerTarget = std::variant<NullTarget, LogTarget, JsonlTarget, TensorboardTarget, UnavailableTarget>;

// `last_step`: the step of the checkpoint that is resumed, 0 for a fresh run; later steps of an earlier
// attempt disappear. An input error for an unavailable provider. The clock outlives the run.
std::unique_ptr<TrackerRun> open_tracker(const TrackerTarget& target, std::int64_t last_step,
                                         const Clock& clock);
// The same refusal without opening anything, for checking a job.
void require_available(const TrackerTarget& target);

}  // namespace d9d
