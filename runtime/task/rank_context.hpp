#pragma once
// What a task may know of the rank that it serves, and how it talks to the tasks of other ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/rank_group.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/task/live_model.hpp"
#include "runtime/task/piece_context.hpp"
#include "runtime/task/task_records.hpp"

namespace d9d {

struct RankContext : PieceContext {
  int rank = 0;  // global
  int world_size = 1;
  RankPlacement placement;       // coordinates on the mesh
  std::uint64_t first_step = 1;  // of this process: after the checkpoint that is resumed
  // The ranks that differ from this one along these axes alone, which one domain of the mesh has (mesh/domains.hpp):
  // {"dp"}: other samples; {"pp"}: the pipeline; {"world"}: all. {"host"}: the ranks of this host, so that
  // group({"host"}).first_then_others(...) is a local_main_process_first(). Processes are known to be of one host
  // if one command (`node.processes`) or a launcher has started them there; else each has a group of its own. Input
  // error for axes that there are not. Opens communicators, so all ranks of the group ask for it in the same order,
  // in begin(); to be used on the thread that calls begin(), which is the one of compute_loss and process_outputs.
  std::function<RankGroup(const std::vector<std::string>& axes)> group;
  // The model: to read whole parameters and to save it, between two steps. Opens communicators, too.
  std::function<std::shared_ptr<LiveModel>()> model;
  // Shows a text, a picture or a number in the line of its step: in metrics.jsonl, TensorBoard and the other trackers,
  // when the step ends. From any thread, also after begin(); ranks that record the same name of a step overwrite each
  // other. Limits and errors: task_records.hpp.
  std::function<void(TaskRecord record)> record;
  // Updates metrics that the task declares, for callbacks that get none, of events for example:
  //   context.count([&](Compose& metrics) { metrics.get<WeightedMean>("wait").update(seconds); });
  // Counts on each rank that calls it, in the training's next report: what is counted before the end of a step's
  // forwards and backwards, or in a gradient hook, belongs to that step; what follows (the update, an evaluation,
  // sleep) to the next one, or to the checkpoint of this one, so that a job that goes on reports it. From any thread,
  // also after begin(). `update` must not call it again.
  std::function<void(const std::function<void(Compose& metrics)>& update)> count;
};

}  // namespace d9d
