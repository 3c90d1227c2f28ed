#pragma once
// What a RankExecutor knows about its job and its rank.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/notes/trace_window.hpp"
#include "messages/actor_id.hpp"
#include "runtime/comm/decorators/reopened.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/rank/group/comm_tracing.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

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

}  // namespace d9d
