#pragma once
// Trainer: the step of one rank as a state machine: batch -> begin -> computed -> reduced -> apply -> next.
// Pool: it only counts and tells. One per rank. Parent: Node.
// hears StartTraining BatchReady DataEnded StepComputed ValuesReduced MetricState CheckpointCommitted Tick
// says Ready LoadBatches BeginStep ReduceValues ApplyStep Snapshot CollectMetrics SaveMetrics CheckpointState
//      FlushTrace StepFinished Publish RankFinished

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/data.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/rank/input_builder.hpp"

namespace d9d {

// Detailed traces: of each `period` steps the last `active` ones are written to a file of their own.
struct TraceWindow {
  std::uint64_t period = 0;
  std::uint64_t active = 0;
};

struct TrainerOptions {
  int rank = 0;
  int world_size = 1;
  std::uint64_t total_steps = 0;
  std::uint32_t batch_credits = 2;                     // packs in flight: the one in use and those ahead
  std::function<double(std::uint64_t)> lr_multiplier;  // of the step, from 1
  double base_lr = 0;                                  // for reports
  std::optional<double> max_norm;                      // clip to this; none: only measure
  std::function<bool(std::uint64_t)> checkpoint_due;   // after this step?
  std::function<bool(std::uint64_t)> metrics_due;
  std::function<std::string(std::uint64_t)> temporary_checkpoint_dir;  // of the checkpoint after this step
  bool counts_tokens = true;  // one rank of those that see the same tokens does
  std::function<std::unique_ptr<InputBuilder>()> make_inputs;
  std::function<std::string()> task_state;  // JSON; rank 0 only
  std::optional<TraceWindow> trace_window;  // rank 0 only
  int num_nodes = 1;
  std::uint64_t tokens_before = 0;  // of all ranks in the steps before the checkpoint that is resumed
  ActorId world_collective;         // of this rank
  std::chrono::milliseconds first_step_timeout{10'000'000};
  std::chrono::milliseconds step_timeout{100'000};
};

class Trainer final : public Actor {
 public:
  Trainer(World& world, TrainerOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void start_training(wire::StartTraining::Reader message);
  void batch_ready(wire::BatchReady::Reader message);
  void data_ended(wire::DataEnded::Reader message);
  void step_computed(wire::StepComputed::Reader message);
  void values_reduced(wire::ValuesReduced::Reader message);
  void metric_state(wire::MetricState::Reader message);
  void checkpoint_committed(wire::CheckpointCommitted::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  enum class Phase { waiting, computing, reducing, finished };
  struct Batch {
    std::uint64_t step;
    Ticket ticket;
    std::uint64_t next_sample;
  };

  void advance();
  void begin(const Batch& batch);
  void apply(double norm, double weight, const std::vector<double>& costs);
  void report(double loss, double norm, double tokens);
  void after_apply();
  void take_snapshot();
  void finish_when_done();
  void publish(const char* event, const std::string& context = "{}");
  void record_step(std::int64_t now_ns);
  void write_trace_when_due();
  void arm_deadline();

  TrainerOptions options_;
  std::unique_ptr<InputBuilder> inputs_;
  Phase phase_ = Phase::waiting;
  std::uint64_t current_ = 0;  // the step in work, or the next one
  std::uint64_t first_step_ = 0;
  std::deque<Batch> batches_;      // loaded ahead, in step order
  std::uint64_t next_sample_ = 0;  // cursor after the current step
  std::uint64_t tokens_ = 0;       // of this rank in the current step
  std::uint64_t tokens_total_;     // of all ranks in all steps so far
  std::uint64_t reductions_ = 0;
  std::int64_t step_begin_ns_ = 0;
  bool started_ = false, told_finished_ = false;
  bool has_checkpoint_ = false;  // committed or resumed from
  std::uint32_t steps_track_ = 0;
  // At most one checkpoint is being written; a further one makes training wait at its step.
  struct Save {
    std::uint64_t step, next_sample, tokens_total;
  };
  std::optional<Save> snapshot_in_flight_, snapshot_wanted_;
};

}  // namespace d9d
