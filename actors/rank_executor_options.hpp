#pragma once
// What a RankExecutor is told about its job and its rank.

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
  std::function<std::unique_ptr<RankWorker>(BucketObserver&, CommTracing)> make_worker;  // on its thread
  std::vector<int> rank_of_stage;    // of this pipeline: which global rank holds each stage
  std::vector<int> remote_ranks;     // those of them in other processes: reached through a TensorLane
  std::vector<ActorId> collectives;  // by reduce group
  ActorId checkpoint_writer;
  NormType norm = NormType::l2;                    // how shares of the gradient norm are joined
  std::optional<TraceWindow> traces_kernels = {};  // of devices: in steps of such a file
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::shared_ptr<ReopenedCommunicators> communicators = std::make_shared<ReopenedCommunicators>();
  std::function<void()> a_step_has_ended = [] {};  // the first one, and the first one after a sleep
  std::vector<int> followers;  // ranks that run actions in the order of this one (rank_order.hpp)
};

}  // namespace d9d
