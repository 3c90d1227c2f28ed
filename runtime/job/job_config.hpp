#pragma once
// A whole job file: d9d's keys (reference, appendix A), and ours: task, plugins, actors, gradient_hooks, export_to,
// export, output_dir, node, debug. Relative paths are relative to the working directory, as in the original.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/data/config/data_config.hpp"
#include "runtime/job/section/debug_config.hpp"
#include "runtime/job/section/evaluation_config.hpp"
#include "runtime/job/section/inference_config.hpp"
#include "runtime/job/section/mesh_config.hpp"
#include "runtime/job/section/model_config.hpp"
#include "runtime/job/section/node_config.hpp"
#include "runtime/job/section/optimizer_config.hpp"
#include "runtime/job/section/parallelism_config.hpp"
#include "runtime/job/section/task_config.hpp"
#include "runtime/job/section/trainer_config.hpp"
#include "runtime/train/lr/lr_config.hpp"

namespace d9d {

enum class ExportChoice { last, best };
BOOST_DESCRIBE_ENUM(ExportChoice, last, best)

constexpr config::Key export_choice_key{
    "export", "",
    "which checkpoint export_to and export_adapter_to are made of; best: of those that are there, that "
    "with the best evaluation, by evaluation.metric (needs `evaluation`, and its keep_best where checkpoints "
    "are removed)"};

struct JobConfig {
  DeviceMeshParameters mesh;
  ParallelOptions parallelism;
  TrainerConfig trainer;  // of an inference job: what as_trainer() makes of it
  std::optional<InferenceConfig> inference;
  ModelProviderConfig model_provider;
  DataConfig data;
  std::optional<config::Named> collation;
  std::optional<EvaluationConfig> evaluation;
  OptimizerConfig optimizer;
  std::optional<LrSchedulerConfig> lr_scheduler;
  TaskConfig task;
  std::vector<std::string> plugins;
  std::vector<config::Named> actors;
  std::vector<config::Named> gradient_hooks;
  std::optional<std::string> export_to;
  double export_shard_gb = 4;
  std::optional<std::string> export_adapter_to;
  ExportChoice export_ = ExportChoice::last;
  std::optional<std::string> output_dir;
  NodeConfig node;
  DebugConfig debug;

  std::uint64_t export_shard_bytes() const { return static_cast<std::uint64_t>(export_shard_gb * 1e9 + 0.5); }
};
BOOST_DESCRIBE_STRUCT(JobConfig, (),
                      (mesh, parallelism, trainer, inference, model_provider, data, collation, evaluation,
                       optimizer, lr_scheduler, task, plugins, actors, gradient_hooks, export_to,
                       export_shard_gb, export_adapter_to, export_, output_dir, node, debug))

constexpr auto keys_of(config::Tag<JobConfig>) {
  using namespace config;
  return std::array{
      Key{"mesh", "",
          "degrees of parallelism; the product of all but expert_parallel is the number of ranks"},
      Key{"parallelism", "", "how the degrees of `mesh` are put to work"},
      Key{"trainer", "", "the run; required, unless `inference` is in its place"},
      Key{"inference", "", "instead of `trainer`: the model's outputs for the data; null: the job trains"},
      Key{"model_provider", "", "the model", required},
      Key{"data", "", "where samples come from", required},
      Key{"collation", "", "a plugin's way from samples to a microbatch: name and keys; null: stacked"},
      Key{"evaluation", "", "the loss of other data between steps; null: none"},
      Key{"optimizer", "", "the optimizer; required where the job trains"},
      Key{"lr_scheduler", "", "the learning rate over time; null: constant"},
      Key{"task", "", "inputs and loss; left out: causal_lm"},
      Key{"plugins", "",
          "shared libraries with tasks, models, data sources, collations, optimizers, learning-rate and "
          "pipeline schedules, trackers and actors of your own"},
      Key{"actors", "", "actors of your own; name and their keys"},
      Key{"gradient_hooks", "",
          "`clip_value` (`match`, `limit`) and hooks of your own, called in this order in every step"},
      Key{"export_to", "", "Hugging Face folder written after the last step; null: none"},
      Key{"export_shard_gb", "GB",
          "what a file of export_to holds at most (`--shard-size`); a larger tensor has one of its own",
          optional, above(0)},
      Key{"export_adapter_to", "",
          "folder of the adapter alone, in PEFT's format, after the last step; null: none"},
      export_choice_key,
      Key{"output_dir", "", "folder of all that the run leaves; null: `runs/<run name>`"},
      Key{"node", "", "this process"},
      Key{"debug", "", "checks for a job that hangs or diverges"},
  };
}

// The learning-rate schedule of a job; constant without a section, none where it is a plugin's.
std::optional<PiecewiseLr> build_lr(const JobConfig& job);
// Microbatches that each data replica computes in a step; the batch sizes must divide (validated).
std::int64_t microbatches_per_step(const JobConfig& job);

}  // namespace d9d
