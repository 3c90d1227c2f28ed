#include "runtime/rank/tracker_runs.hpp"

#include <unistd.h>

#include "runtime/base/error.hpp"
#include "runtime/metric/open_tracker.hpp"
#include "runtime/task/job_paths.hpp"

namespace d9d {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

struct TargetOf {
  const JobConfig& job;
  TrackerTarget operator()(const NullTracker&) const { return NullTarget{}; }
  TrackerTarget operator()(const LogTracker&) const { return LogTarget{}; }
  TrackerTarget operator()(const TensorboardTracker& tracker) const {
    return TensorboardTarget{tensorboard_dir(job, tracker), host_name()};
  }
  TrackerTarget operator()(const AimTracker&) const { return UnavailableTarget{"aim"}; }
  TrackerTarget operator()(const WandbTracker&) const { return UnavailableTarget{"wandb"}; }
  TrackerTarget operator()(const MlflowTracker&) const { return UnavailableTarget{"mlflow"}; }
};

}  // namespace

std::vector<std::unique_ptr<TrackerRun>> open_tracker_runs(const JobConfig& job, std::uint64_t last_step,
                                                           const nlohmann::json& hparams,
                                                           const Clock& clock) {
  const auto resumed = static_cast<std::int64_t>(last_step);
  std::vector<std::unique_ptr<TrackerRun>> runs;
  runs.push_back(open_tracker(JsonlTarget{metrics_file(job)}, resumed, clock));
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    runs.push_back(open_tracker(std::visit(TargetOf{job}, tracker), resumed, clock));
  }
  for (auto& run : runs) run->hparams(hparams);
  return runs;
}

}  // namespace d9d
