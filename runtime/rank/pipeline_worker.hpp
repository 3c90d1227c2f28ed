#pragma once
// The RankWorker of a training rank: model stages, program, flat parameters, optimizer, checkpoints. No
// torch in this header.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/pipeline/order/cursor_order.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/rank/group/comm_tracing.hpp"
#include "runtime/rank/group/module_communicators.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "runtime/rank/state/awake_ranks.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/task/piece_context.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

class Communicator;
class Compose;
class Device;
class GradientHook;
class InferenceTask;
class LrSchedule;
class ModelProvider;
class OptimizerProvider;
class SharedSearch;
class TrainTask;
struct RankContext;
struct RankGradients;  // shared with the CollectiveWorkers of the rank; see rank_gradients.hpp

// Opens a communicator between two ranks of the job, given by their numbers. One of them is this rank.
using OpenPair = std::function<std::shared_ptr<Communicator>(int one, int other, const std::string& use)>;

// Names of a plugin's parts in the job file, for errors. Empty: the part is built in.
struct PluginNames {
  std::string model, task, optimizer;
};

struct PipelineWorkerOptions {
  int rank = 0;
  const Plan* plan = nullptr;
  ScheduleConfig schedule;
  std::shared_ptr<SharedSearch> search;  // for schedule `auto`; one for all ranks of the process
  CursorOrder order = CursorOrder::static_;
  int extra_activations = 0;  // for the dynamic order
  bool follows = false;       // another rank decides the order, see rank_order.hpp
  std::shared_ptr<const ModelProvider> model;
  bool model_is_of_plugin = false;  // see plugin_parameters.hpp
  PluginNames of_plugin;
  std::shared_ptr<const TrainTask> task;
  StepPhases phases;                                 // of the task
  std::vector<std::shared_ptr<GradientHook>> hooks;  // called in their order by hook_gradients()
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::shared_ptr<const LrSchedule> lr_schedule;       // for the event
  std::function<void(const RankContext&)> begin_task;  // TrainTask::begin
  PieceContext context;                                // from which begin_task gets its RankContext
  std::uint64_t first_step = 1;
  std::shared_ptr<const OptimizerProvider> optimizer;
  GradientManagerConfig gradients;
  NormType norm = NormType::l2;  // of the gradients
  std::uint64_t seed = 0;
  int threads = 1;
  std::shared_ptr<Device> device;                                      // null: the CPU
  bool synchronous_device = false;                                     // see stage_core_options.hpp
  std::shared_ptr<AwakeRanks> awake = std::make_shared<AwakeRanks>();  // one for all ranks of the process
  std::string source_checkpoint;           // weights to start from; empty = drawn from the seed
  bool checkpoint_only_trainable = false;  // a resume reads frozen weights where the first start did
  std::string resume_from;                 // committed checkpoint; empty = none
  std::uint64_t skipped_steps = 0;         // how many of the checkpoint's steps made no update
  std::function<void(Compose&)> declare_metrics;
  std::map<std::string, std::string> watched{};  // trainer.logging.statistics
  // parameter_patterns() for a plugin's model, whose parameters are known only when its stages are built.
  std::map<std::string, std::string> patterns{};
  bool logs_expert_load = false;             // expert_load_name is among the metrics
  bool evaluates = false;                    // begin_evaluation() will be called
  std::shared_ptr<InferenceTask> inference;  // of an inference job: nothing trains, all steps are evaluations
  std::vector<std::string> metric_states;    // JSON of the checkpoint: states of metrics to continue from
  ParallelOptions parallel;
  OpenGroup open_group;  // communicators of the modules
  OpenPair open_pair;    // to the rank that holds the other copy of tied weights
  std::shared_ptr<RankGradients> shared;
  TensorTable* table = nullptr;
  Disk* disk = nullptr;
};

// `buckets` must outlive the worker. It is not called before begin_step().
std::unique_ptr<RankWorker> make_pipeline_worker(PipelineWorkerOptions options, BucketObserver& buckets,
                                                 CommTracing tracing = {});

}  // namespace d9d
