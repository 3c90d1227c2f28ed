#pragma once
// The models, tasks, data sources, optimizers and learning-rate schedules that come with d9d, line by line.

#include <memory>

#include "runtime/data/build_source.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

class SharedCorpora;

// `loaded` and `disk` outlive what the registry makes.
Registry builtin_registry(const LoadedJob& loaded, Disk& disk);
// What the job file names.
std::shared_ptr<const ModelProvider> make_model(const Registry& registry, const JobConfig& job);
std::shared_ptr<TrainTask> make_task(const Registry& registry, const JobConfig& job);
// Of a job that infers. Makes no file.
std::shared_ptr<InferenceTask> make_inference_task(const Registry& registry, const JobConfig& job, int rank,
                                                   std::shared_ptr<const SampleSource> source = nullptr);
std::shared_ptr<const OptimizerProvider> make_optimizer(const Registry& registry, const JobConfig& job);
// The hooks of one rank, in their order.
std::vector<std::shared_ptr<GradientHook>> make_gradient_hooks(const Registry& registry,
                                                               const JobConfig& job);
// What a source is for: training leaves out what makes no whole row; inference and evaluation look at all of it.
enum class SourceUse { of_job, evaluation };
// What labels of the job's samples are: one of the user's tasks says it.
TokenLabels labels_for(const JobConfig& job, const TrainTask& task);
TokenLabels labels_for(const JobConfig& job, const InferenceTask& task);
// What `data` asks for. A plugin's source is called through a guard: see plugin_source.hpp. Where a job makes several,
// what they read alike is tokenised once if they are given the same `share`.
std::shared_ptr<const SampleSource> make_source(const Registry& registry, const DataConfig& data,
                                                const LoadedJob& loaded, TokenLabels labels,
                                                SourceUse use = SourceUse::of_job,
                                                const std::shared_ptr<SharedCorpora>& share = nullptr);
// Null where the job names none: samples are stacked.
std::shared_ptr<const Collation> make_collation(const Registry& registry, const JobConfig& job);
// That of `trainer.pipelining`; a plugin's has been made.
ScheduleConfig make_schedule(const Registry& registry, const JobConfig& job);
// Without a section the multiplier is 1 at every step.
std::shared_ptr<const LrSchedule> make_lr_schedule(const Registry& registry, const JobConfig& job);

// At multiplier 1.
double base_learning_rate(const OptimizerProvider& optimizer);
// The multiplier of the base learning rate for a step counted from 1: the first step runs at the schedule's
// point 0. `total_steps` is the length of the run, whether the job or the data says it. Environment error, when it is
// asked, if a plugin's schedule says a number below 0 or none.
std::function<double(std::uint64_t)> step_multiplier(const LrSchedule& schedule, std::uint64_t total_steps);

}  // namespace d9d
