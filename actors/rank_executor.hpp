#pragma once
// RankExecutor: runs the pipeline program of one rank over all pipeline stages that the rank holds. One per
// rank, on its own thread, because it computes. Parent: Node.
// The law: messages may come in any order, actions run in the order of the worker's cursor. A handler records
// the fact and calls advance(); no handler issues a collective.
// Ranks that share collectives inside an action must all run actions in one order. With the static order they
// have the same program. With the dynamic order the first of them leads and the others follow.
// hears BeginStep ActivationReady GradientReady Tick LeadAction BucketReduced CollectMetrics ApplyStep Snapshot
// says Ready ActivationReady GradientReady LeadAction SendTensors ReduceBucket StepComputed MetricsTaken
//   StepApplied WriteShard MetricState

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/rank/stage_worker.hpp"

namespace d9d {

struct RankExecutorOptions {
  int rank = 0;
  std::function<std::unique_ptr<StageWorker>()> make_worker;  // runs on the actor's thread
  std::vector<int> rank_of_stage;    // of this pipeline: which global rank holds each stage
  std::vector<int> remote_ranks;     // those of them in other processes: reached through a TensorLane
  std::vector<ActorId> collectives;  // by reduce group
  ActorId checkpoint_writer;
  std::optional<int> leader;   // the rank whose order this one follows
  std::vector<int> followers;  // ranks that follow this one's order
};

class RankExecutor final : public Actor {
 public:
  RankExecutor(World& world, RankExecutorOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void begin_step(wire::BeginStep::Reader message);
  void activation_ready(wire::ActivationReady::Reader message);
  void gradient_ready(wire::GradientReady::Reader message);
  void tick(wire::Tick::Reader message);
  void lead_action(wire::LeadAction::Reader message);
  void bucket_reduced(wire::BucketReduced::Reader message);
  void collect_metrics(wire::CollectMetrics::Reader message);
  void apply_step(wire::ApplyStep::Reader message);
  void snapshot(wire::Snapshot::Reader message);

 private:
  void trace_communication();
  template <class Reader>
  void arrived(Reader message, bool gradient);
  void take(const StageOutput& tensor);
  void advance();
  std::optional<Instruction> next();
  void look_again_when_due();
  void lead(const Instruction& instruction);
  void run(const Instruction& instruction);
  void hand_on(const StageOutput& output);
  void request_reduction(int bucket);
  void finish_step_when_done();
  double seconds_since(std::int64_t begin_ns);
  double now() { return seconds_since(0); }

  RankExecutorOptions options_;
  std::unique_ptr<StageWorker> worker_;
  std::vector<int> bucket_groups_;
  std::vector<std::uint32_t> tracks_;  // by stage: a trace track of its own
  std::uint32_t running_track_ = 0;    // of the action that runs
  std::uint32_t optimizer_track_ = 0;
  // Facts of a step that has not begun here yet: a fast neighbour may be ahead of our BeginStep.
  struct Early {
    std::uint64_t step;
    StageOutput tensor;
  };
  std::vector<Early> early_;
  struct Led {
    std::uint64_t step;
    Instruction instruction;
  };
  std::deque<Led> led_;  // what the leader told us to run and we did not run yet; maybe of the next step too
  double looks_again_at_ = 0;    // when the last Tick told comes, in seconds of the clock
  std::uint32_t number_ = 0;     // of the next LeadAction of the step, told or heard
  std::uint64_t lead_step_ = 0;  // the step that number_ is of
  bool in_step_ = false;
  int reductions_pending_ = 0;
  double squared_norm_ = 0;
  double compute_seconds_ = 0;
};

}  // namespace d9d
