#include "runtime/task/tracker_runs.hpp"

#include <unistd.h>

#include "runtime/base/error.hpp"
#include "runtime/metric/open_tracker.hpp"
#include "runtime/metric/run_record.hpp"
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
  template <class WithClient>
  TrackerTarget operator()(const WithClient& tracker) const {
    const config::Json keys = config::encode(TrackerConfig(tracker));
    const auto& about = job.trainer.run;
    return BridgeOptions{.provider = keys.at("provider").template get<std::string>(),
                         .settings = keys,
                         .folder = trackers_dir(job),
                         .record = output_dir(job) / run_record_name,
                         .run = about.name,
                         .description = about.description.value_or("")};
  }
};

// Tracker files do not go through a Disk.
class WatchedRun final : public TrackerRun {
 public:
  WatchedRun(std::unique_ptr<TrackerRun> run, DiskWatch& watch, std::string path)
      : run_(std::move(run)), watch_(watch), path_(std::move(path)) {}

  void write(const Point& point, const TrackerValue& value) override {
    const DiskWatch::Call call(watch_, "write", path_);
    run_->write(point, value);
  }
  void end_step(std::int64_t step) override {
    const DiskWatch::Call call(watch_, "write", path_);
    run_->end_step(step);
  }
  void hparams(const nlohmann::json& hparams) override {
    const DiskWatch::Call call(watch_, "write", path_);
    run_->hparams(hparams);
  }
  void flush() override {
    const DiskWatch::Call call(watch_, "write", path_);
    run_->flush();
  }
  void begin_close() override {
    const DiskWatch::Call call(watch_, "close", path_);
    run_->begin_close();
  }
  void close() override {
    const DiskWatch::Call call(watch_, "close", path_);
    run_->close();
  }

 private:
  std::unique_ptr<TrackerRun> run_;
  DiskWatch& watch_;
  const std::string path_;
};

}  // namespace

void require_tracker_clients(const JobConfig& job) {
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    const TrackerTarget target = std::visit(TargetOf{job}, tracker);
    if (const auto* bridge = std::get_if<BridgeOptions>(&target)) require_client(bridge->provider);
  }
}

std::vector<std::unique_ptr<TrackerRun>> open_tracker_runs(const JobConfig& job, std::uint64_t last_step,
                                                           const nlohmann::json& hparams, const Clock& clock,
                                                           DiskWatch& watch) {
  const auto resumed = static_cast<std::int64_t>(last_step);
  std::vector<std::unique_ptr<TrackerRun>> runs;
  const auto add = [&](const TrackerTarget& target, const std::string& path) {
    const DiskWatch::Call call(watch, "open", path);
    runs.push_back(std::make_unique<WatchedRun>(open_tracker(target, resumed, clock), watch, path));
  };
  const std::string metrics = metrics_file(job).string();
  add(JsonlTarget{metrics}, metrics);
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items)
    add(std::visit(TargetOf{job}, tracker), output_dir(job).string());
  for (auto& run : runs) run->hparams(hparams);
  return runs;
}

}  // namespace d9d
