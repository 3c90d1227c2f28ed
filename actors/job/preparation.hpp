#pragma once
// Everything that can be found wrong with a job before it forms, and what is made on the way. `run` starts
// with this and `check` is this, so both find the same and say it in the same words. Writes nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/job/actor_registry.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/launch/run_options.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

class SampleSource;

struct PreparedJob {
  Registry registry;  // with what the plugins add
  ActorRegistry user_actors;
  std::shared_ptr<const ModelProvider> model;
  std::shared_ptr<const OptimizerProvider> optimizer;
  std::shared_ptr<const LrSchedule> lr_schedule;
  std::shared_ptr<const SampleSource> source;
  std::shared_ptr<const Collation> collation;  // null: samples are stacked
  ScheduleConfig schedule;                     // a plugin's has been made
  StepPhases phases;                           // of the task
  std::uint64_t total_steps = 0;               // of a start that goes on from the newest checkpoint
  std::optional<std::uint64_t> num_samples;    // of an epoch; nothing: the source is endless
  std::optional<std::uint64_t> end_sample;     // where the data ends; nothing: it never does
  std::shared_ptr<const SampleSource> evaluation_source;  // null: the job evaluates nothing
  std::uint64_t evaluation_batches = 0;
  std::optional<std::uint64_t> evaluation_end;  // as end_sample
  std::uint64_t left_out = 0;                   // samples_left_out()
  TokenizerFiles tokenizer;                     // to lie in every checkpoint
  std::vector<std::string> warnings;            // what the user should know of, a line each
};

// `loaded` and `disk` outlive the result. Makes and drops one task and one of each of the job's own actors,
// because their sections are read when they are made. One error with everything that is wrong, a line each.
PreparedJob prepare_job(const LoadedJob& loaded, const RunOptions& options, Disk& disk);

}  // namespace d9d
