#pragma once
// In which order a rank computes, what it computes for the user, and what it counts. No torch.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/step_phases.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/order/cursor_order.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/task/piece_context.hpp"

namespace d9d {

class Compose;
class GradientHook;
class InferenceTask;
class SharedSearch;
class TrainTask;
struct RankContext;

struct OrderOptions {
  ScheduleConfig schedule;
  std::shared_ptr<SharedSearch> search = {};  // for schedule `auto`; one for all ranks of the process
  CursorOrder cursor = CursorOrder::static_;
  int extra_activations = 0;         // for the dynamic order
  bool follows = false;              // another rank decides the order, see rank_order.hpp
  Overlap overlap = Overlap::auto_;  // of the parts of composed actions
};

struct TaskOptions {
  std::shared_ptr<const TrainTask> task;
  std::string plugin_name = {};                           // in the job file, for errors; empty: built in
  StepPhases phases = {};                                 // of the task
  std::shared_ptr<InferenceTask> inference = {};          // of an inference job: nothing trains
  bool evaluates = false;                                 // there will be passes of the kind `evaluate`
  std::vector<std::shared_ptr<GradientHook>> hooks = {};  // called in their order
  std::function<void(const RankContext&)> begin = {};     // TrainTask::begin
  PieceContext context = {};                              // from which `begin` gets its RankContext
  std::uint64_t first_step = 1;
};

struct MetricOptions {
  std::function<void(Compose&)> declare;
  std::vector<std::string> states = {};             // JSON of the checkpoint, to continue from
  std::map<std::string, std::string> watched = {};  // trainer.logging.statistics
  bool logs_expert_load = false;                    // expert_load_name is among the metrics
};

}  // namespace d9d
