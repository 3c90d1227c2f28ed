#pragma once
// What the actors of one process share whatever the membership: the job, the disk, the data.
// Made by run_job; outlives every actor. No torch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/core/world.hpp"
#include "actors/job/actor_registry.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/launch/host_share.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/pipeline/program/shared_search.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {

namespace net {
class Gate;
}

class HeldFolders;
class SampleSource;

struct ProcessServices {
  const LoadedJob& loaded;
  World& world;
  Disk& disk;
  std::shared_ptr<const ModelProvider> model;
  std::shared_ptr<const OptimizerProvider> optimizer{};
  std::shared_ptr<const LrSchedule> lr_schedule{};
  const ActorRegistry& user_actors;
  std::function<std::shared_ptr<TrainTask>()> make_task;
  std::function<std::shared_ptr<InferenceTask>(int rank)> make_inference_task{};  // where the job infers
  StepPhases phases{};                                                            // of the task
  // Of one rank.
  std::function<std::vector<std::shared_ptr<GradientHook>>()> make_gradient_hooks = [] {
    return std::vector<std::shared_ptr<GradientHook>>();
  };
  std::optional<std::uint64_t> num_samples{};  // of an epoch; nothing: the source is endless
  std::optional<std::uint64_t> end_sample{};   // where the data ends; nothing: it never does
  net::Gate& gate;
  int threads_per_rank = 1;
  std::shared_ptr<const SampleSource> source;               // one for all loaders: a text is tokenised once
  std::shared_ptr<const SampleSource> evaluation_source{};  // null: the job evaluates nothing
  std::uint64_t evaluation_batches = 0;
  std::optional<std::uint64_t> evaluation_end{};  // where its data ends; nothing: it never does
  std::shared_ptr<const Collation> collation{};   // null: samples are stacked
  std::optional<ScheduleConfig> own_schedule{};   // a plugin's, made
  std::shared_ptr<SharedSearch> schedule_search = std::make_shared<SharedSearch>();
  ProgressDisplay* progress = nullptr;  // node 0
  DiskWatch* disk_watch = nullptr;      // for files that are not opened through `disk`
  HeldFolders* held_folders = nullptr;
  TokenizerFiles tokenizer{};                     // copied into every checkpoint
  const Registry* registry = nullptr;             // of trackers that plugins bring
  std::vector<ExpectedMemory> expected_memory{};  // by pipeline rank; empty: nothing is estimated
  std::string job_token{};                        // the user's secret, which his programs have; empty: none
  HostShare share{};                              // of the host, by which it takes its devices

  const JobConfig& job() const { return loaded.job; }
  const ScheduleConfig& schedule() const {
    return own_schedule ? *own_schedule : job().trainer.pipelining.schedule;
  }
};

}  // namespace d9d
