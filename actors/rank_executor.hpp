#pragma once
// RankExecutor: runs the pipeline program of one rank over all pipeline stages that the rank holds. One per rank, on
// its own thread, because it computes. Parent: Node. The law: messages may come in any order, but actions run
// in the order that the worker's RankOrder decides. A handler records the fact and calls advance(); no
// handler issues a collective.
// hears BeginStep ActivationReady GradientReady Tick LeadAction BucketReduced CollectMetrics HookGradients ApplyStep
//   Snapshot Sleep Wake GenerateTexts WriteRollouts RestoreState
// says Ready ActivationReady GradientReady LeadAction SendTensors ReduceBucket StepComputed MetricsTaken
//   GradientsHooked StepApplied WriteShard MetricState Sleep Slept Awake TextsGenerated RolloutsWritten StateRestored

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/notes/device_tracks.hpp"
#include "actors/notes/pass.hpp"
#include "actors/notes/trace_window.hpp"
#include "messages/actor_id.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/texts.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/comm/decorators/reopened.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/rank/group/comm_tracing.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

// What a RankExecutor knows about its job and its rank.
struct RankExecutorOptions {
  int rank = 0;
  int updates = 1;                                                                       // of a step
  std::function<std::unique_ptr<RankWorker>(BucketObserver&, CommTracing)> make_worker;  // on its thread
  std::vector<int> rank_of_stage;    // the global rank that holds each stage of this pipeline
  std::vector<int> remote_ranks;     // those in other processes, reached through a TensorLane
  std::vector<ActorId> collectives;  // one for each reduce group
  ActorId checkpoint_writer;
  NormType norm = NormType::l2;                    // how the shares of the gradient norm are combined
  std::optional<TraceWindow> traces_kernels = {};  // in which the device's kernels are traced
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::shared_ptr<ReopenedCommunicators> communicators = std::make_shared<ReopenedCommunicators>();
  // Called after the first step, and after the first step that follows a sleep.
  std::function<void()> a_step_has_ended = [] {};
  std::vector<int> same_samples = {};  // ranks of this one's data replica, whose Loaders get its rollouts
  std::vector<int> followers;          // ranks that follow the order of this one (rank_order.hpp)
};

class RankExecutor final : public Actor, private BucketObserver {
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
  void hook_gradients(wire::HookGradients::Reader message);
  void apply_step(wire::ApplyStep::Reader message);
  void snapshot(wire::Snapshot::Reader message);
  void sleep(wire::Sleep::Reader message);
  void wake(wire::Wake::Reader message);
  void generate_texts(wire::GenerateTexts::Reader message);
  void write_rollouts(wire::WriteRollouts::Reader message);
  void restore_state(wire::RestoreState::Reader message);

 private:
  CommTracing comm_tracing();
  template <class Reader>
  void tensor_ready(Reader message, bool gradient, const Pass& pass);
  void begin_pass(const PassRequest& request);
  void put_what_came_early();
  void advance();
  void wake_up_when_due();
  void lead(const OrderedInstruction& next);
  void run(const Instruction& instruction);
  void send_tensor(const StageTensor& tensor);
  void bucket_complete(int bucket) override;
  PassResult finished(RankPass& ended);
  void finish_pass_when_done();
  void tell_texts(const Texts& texts);
  double seconds_since(std::int64_t begin_ns);
  int update() const { return static_cast<int>(pass_.number); }  // of the step, whose pass was the last

  RankExecutorOptions options_;
  std::unique_ptr<RankWorker> worker_;
  std::vector<int> bucket_groups_;
  std::vector<std::uint32_t> tracks_;                      // one trace track per stage
  std::uint32_t optimizer_track_ = 0, running_track_ = 0;  // the latter: that of the running action
  std::unique_ptr<DeviceTracks> device_;
  using Begun = std::pair<std::uint64_t, Pass>;       // a pass of a step
  std::vector<std::pair<Begun, StageTensor>> early_;  // tensors of a pass that only a neighbour has begun
  enum class Links { fresh, in_use, proved } links_ = Links::fresh;
  RankPass* running_ = nullptr;               // the pass in work; null between two
  Pass pass_;                                 // the same, or the last one
  ActorId asker_;                             // who asked for the texts in work
  std::optional<TextRequest> rollouts_part_;  // while further prompts come
  std::uint64_t rollouts_for_ = 0;            // or for which step they are
  bool nothing_moved_ = false;                // by the step's updates so far
  int reductions_pending_ = 0;
  double norm_share_ = 0, compute_seconds_ = 0;
};

}  // namespace d9d
