#pragma once
// Tracker: writes the numbers of a job's steps to files and TensorBoard, and draws the progress bar.
// Own thread: it writes files. One per job, on node 0. Parent: Node.
// hears StepFinished EvaluationFinished MetricValues RecordValue FlushTracker    says TrackerFlushed StepShown

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/metrics.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/metric/progress.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/metric/step_ledger.hpp"

namespace d9d {

// The floating-point operations that all ranks can do in a second; StepFinished has those
// that the model needs.
struct PeakFlops {
  double peak = 0;
  bool is_measured = false;  // then the run's numbers have it, once
};

struct TrackerOptions {
  // Called on the tracker's thread. On resume the runs remove what was written after the resumed step.
  std::function<std::vector<std::unique_ptr<TrackerRun>>()> open_runs;
  std::function<void(const ProgressState&)> show;  // the progress bar
  std::function<void()> hide;                      // at the end
  std::uint64_t resumed_step = 0;
  bool says_what_is_shown = false;              // to the Trainer of rank 0, after each step
  std::vector<std::string> actor_names = {};    // own actors of the job, in their order
  std::string task = "task";                    // the name of the job's task
  std::optional<PeakFlops> flops = {};          // none for a plugin's model, or without a known peak
  std::function<std::uint64_t()> memory_bytes;  // memory of this process, which is node 0's
  // None: the data never ends. Called at the first step, when the loaders have opened the data.
  std::function<std::optional<std::uint64_t>()> samples_per_epoch;
};

class Tracker final : public Actor {
 public:
  Tracker(World& world, TrackerOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;
  void stop() override;

  void step_finished(wire::StepFinished::Reader message);
  void evaluation_finished(wire::EvaluationFinished::Reader message);
  void metric_values(wire::MetricValues::Reader message);
  void record_value(wire::RecordValue::Reader message);
  void flush_tracker(wire::FlushTracker::Reader message);

 private:
  struct Question {
    std::uint64_t step;
    ActorId asker;
  };
  void write(const std::string& name, std::uint64_t step, const TrackerValue& value,
             const PointContext& context = {});
  std::string name_shown(const std::string& name, const PointContext& context);
  void warn_of_repeated(const std::vector<std::string>& names);
  void write_flops(std::uint64_t step, double rate);
  void write_progress_of_data(wire::StepFinished::Reader message);
  void answer_when_complete();

  TrackerOptions options_;
  std::vector<std::unique_ptr<TrackerRun>> runs_;
  StepLedger ledger_;
  std::set<std::string> put_beside_;  // names of the job's numbers under which pieces have shown values
  std::set<std::string> repeated_;    // names under which metrics have shown two values in one report
  std::vector<Question> questions_;
  bool asked_epoch_ = false;
  std::optional<std::uint64_t> samples_per_epoch_;
};

}  // namespace d9d
