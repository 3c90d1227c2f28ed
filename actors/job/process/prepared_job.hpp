#pragma once
// What is made of a job file before the job forms: its pieces, its plan, and how long it is. No torch.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/job/actor_registry.hpp"
#include "kernels/ops/backend.hpp"
#include "runtime/data/token_labels.hpp"
#include "runtime/job/plan/rank_plan.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/tokenizer_files.hpp"

namespace d9d {

class SampleSource;

// What an actor's ask_for_texts() asks for when the actor has been made. No prompts: it never asks, or sets them later.
struct ActorTexts {
  std::string actor;                                            // its name in the job file
  std::int64_t prompts = 0, prompt_tokens = 0, new_tokens = 0;  // the longest prompt; of a text at most
};

struct PreparedJob {
  Registry registry;  // with what the plugins add
  ActorRegistry user_actors;
  std::shared_ptr<const ModelProvider> model;
  std::optional<std::int64_t> vocabulary;  // of the model; none: it takes no ids, or nobody knows
  std::shared_ptr<const OptimizerProvider> optimizer;
  std::shared_ptr<const LrSchedule> lr_schedule;
  std::shared_ptr<const SampleSource> source;
  std::shared_ptr<const Collation> collation;  // null: samples are stacked
  ScheduleConfig schedule;                     // a plugin's has been made
  JobPlan plan;                                // made with this schedule
  kernels::Backends backends;                  // of this process
  StepPhases phases;                           // of the task
  TokenLabels labels = TokenLabels::next;      // of its samples
  std::uint64_t total_steps = 0;               // of a start that goes on from the newest checkpoint
  std::optional<std::uint64_t> num_samples;    // of an epoch; none: the source is endless
  std::optional<std::uint64_t> end_sample;     // where the data ends; none: it never does
  std::shared_ptr<const SampleSource> evaluation_source;  // null: the job evaluates nothing
  std::uint64_t evaluation_batches = 0;
  std::optional<std::uint64_t> evaluation_end;  // as end_sample
  std::uint64_t left_out = 0;                   // samples_left_out()
  TokenizerFiles tokenizer;                     // copied into every checkpoint
  std::vector<ActorTexts> actor_texts;          // of each of the job's own actors that follows steps
  std::vector<std::string> warnings;            // for the user, a line each
};

}  // namespace d9d
