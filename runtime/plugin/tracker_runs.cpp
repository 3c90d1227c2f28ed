#include "runtime/plugin/tracker_runs.hpp"

#include <unistd.h>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/metric/sink/open_tracker.hpp"
#include "runtime/metric/sink/run_record.hpp"
#include "runtime/plugin/tracker_thread.hpp"

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
  // Opened by its plugin.
  TrackerTarget operator()(const OwnTracker&) const { return NullTarget{}; }
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

// Tracker files do not go through a Disk. Where lines go out counts as a change: a file of the same name may be the
// next job's by then. Numbers are for people: a tracker that throws gets nothing more, and training goes on.
class WatchedRun final : public TrackerRun {
 public:
  // `name`: of the tracker, for what is said when it throws; empty: what it throws passes.
  WatchedRun(std::unique_ptr<TrackerRun> run, DiskWatch& watch, std::string path, std::string name)
      : run_(std::move(run)), watch_(watch), path_(std::move(path)), name_(std::move(name)) {}

  void write(const Point& point, const TrackerValue& value) override {
    step_ = point.step;
    watched("write", [&] { run_->write(point, value); });
  }
  void end_step(std::int64_t step) override {
    step_ = step;
    watched(
        "write", [&] { run_->end_step(step); }, DiskWatch::Access::change);
  }
  void hparams(const nlohmann::json& hparams) override {
    watched("write", [&] { run_->hparams(hparams); });
  }
  void flush() override {
    watched(
        "write", [&] { run_->flush(); }, DiskWatch::Access::change);
  }
  void begin_close() override {
    watched(
        "close", [&] { run_->begin_close(); }, DiskWatch::Access::change);
  }
  void close() override {
    watched(
        "close", [&] { run_->close(); }, DiskWatch::Access::change);
  }

 private:
  template <class Work>
  void watched(const char* what, Work work, DiskWatch::Access access = DiskWatch::Access::read) {
    if (off_) return;
    const DiskWatch::Call call(watch_, what, path_, access);
    if (name_.empty()) return work();
    try {
      work();
    } catch (...) {
      off_ = true;
      log::warn("the tracker \"{}\" threw{}: {}. It gets nothing more; training goes on", name_,
                step_ > 0 ? fmt::format(" in step {}", step_) : "",
                shortened(describe_current_exception().what));
    }
  }

  std::unique_ptr<TrackerRun> run_;
  DiskWatch& watch_;
  const std::string path_, name_;
  std::int64_t step_ = 0;  // of what it was given last
  bool off_ = false;
};

// A plugin's tracker may wait for its network for ever, which is no fault of the disk.
std::unique_ptr<TrackerRun> open_own(const JobConfig& job, const Registry& registry, const OwnTracker& own,
                                     std::int64_t last_step, DiskWatch& watch) {
  const std::string folder = output_dir(job).string();
  const TrackerContext context{.run = job.trainer.run.name,
                               .description = job.trainer.run.description.value_or(""),
                               .folder = folder,
                               .last_step = last_step};
  const auto open = [make = registry.make_tracker(own.name, own.options), context, name = own.name] {
    auto run = make(context);
    D9D_REQUIRE(run != nullptr, "the tracker \"{}\" opened no run", name);
    return run;
  };
  const auto look_at_folder = [&watch, folder] {
    const DiskWatch::Call call(watch, "write", folder, DiskWatch::Access::change);
  };
  look_at_folder();
  return std::make_unique<TrackerThread>(
      TrackerThreadOptions{.name = own.name,
                           .open = open,
                           .open_limit = std::chrono::seconds(job.trainer.timeout.init_timeout),
                           .call_limit = std::chrono::seconds(job.node.disk_timeout),
                           .before_lines_go_out = look_at_folder});
}

}  // namespace

void require_tracker_clients(const JobConfig& job) {
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    const TrackerTarget target = std::visit(TargetOf{job}, tracker);
    if (const auto* bridge = std::get_if<BridgeOptions>(&target)) require_client(bridge->provider);
  }
}

std::vector<std::unique_ptr<TrackerRun>> open_tracker_runs(const JobConfig& job, const Registry& registry,
                                                           std::uint64_t last_step,
                                                           const nlohmann::json& hparams, const Clock& clock,
                                                           DiskWatch& watch) {
  const auto resumed = static_cast<std::int64_t>(last_step);
  std::vector<std::unique_ptr<TrackerRun>> runs;
  const auto add = [&](const TrackerTarget& target, const std::string& path, const std::string& name) {
    const DiskWatch::Call call(watch, "open", path, DiskWatch::Access::change);
    runs.push_back(std::make_unique<WatchedRun>(open_tracker(target, resumed, clock), watch, path, name));
  };
  const std::string metrics = metrics_file(job).string();
  add(JsonlTarget{metrics}, metrics, "");  // the job's own record
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    if (const auto* own = std::get_if<OwnTracker>(&tracker)) {
      runs.push_back(open_own(job, registry, *own, resumed, watch));
    } else {
      add(std::visit(TargetOf{job}, tracker), output_dir(job).string(),
          config::encode(tracker).at("provider").get<std::string>());
    }
  }
  for (auto& run : runs) run->hparams(hparams);
  return runs;
}

}  // namespace d9d
