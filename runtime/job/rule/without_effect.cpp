// Keys that are read and then change nothing, because of what other keys say. Keys of the mesh's parts are
// not among them: one changes `mesh` and nothing else.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/data/config/data_parts.hpp"
#include "runtime/job/rule/job_validation.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

void of_text(const std::string& path, const TextDataConfig& data, Issues& issues) {
  if (!data.format) return;  // the files say it
  if (data.format == TextFormat::text) {
    issues.push_back({path + ".text_field", "the files are plain text",
                      "leave it out, or set format to jsonl, json, parquet, arrow, csv or tsv"});
  } else {
    const bool is_jsonl = data.format == TextFormat::jsonl;
    issues.push_back({path + ".document",
                      is_jsonl ? "a line of a jsonl file is a document" : "a row of a table is a document",
                      "leave it out"});
  }
}

void of_data(const DataConfig& data, Issues& issues) {
  for (const DataPart& part : parts_of(data)) {
    if (const auto* text = std::get_if<TextDataConfig>(&part.source)) of_text(part.path, *text, issues);
    const bool in_order = std::visit(
        [](const auto& source) {
          if constexpr (requires { source.validation; })
            if (source.validation) return false;
          if constexpr (requires { source.shuffle; }) return !source.shuffle && !source.order.sorted;
          return false;
        },
        part.source);
    if (!in_order) continue;
    issues.push_back({part.path + ".seed", "the order is the files'",
                      "leave it out, or set shuffle: true or order.sorted"});
  }
}

void of_profiling(const JobConfig& job, Issues& issues) {
  const auto& profiling = job.trainer.profiling;
  if (!profiling || !profiling->enabled || job.node.trace) return;
  issues.push_back({"trainer.profiling", "node.trace is false, so nothing is recorded",
                    "leave it out, or set node.trace: true"});
}

void of_statistics(const JobConfig& job, Issues& issues) {
  const LoggingConfig& logging = job.trainer.logging;
  if (logging.statistics.empty()) {
    issues.push_back({"trainer.logging.histograms", "no groups of parameters are named",
                      "leave it out, or set trainer.logging.statistics"});
  } else if (job.inference) {
    issues.push_back({"trainer.logging.statistics", "an inference job has no gradients", "leave it out"});
  }
}

void of_checkpoints(const TrainerConfig& trainer, Issues& issues) {
  if (trainer.checkpointing.period_steps.kind != config::Period::Kind::disable) return;
  for (const char* key : {"trainer.checkpointing.num_to_keep", "trainer.timeout.checkpoint_timeout"}) {
    issues.push_back(
        {key, "no checkpoints are written", "leave it out, or set trainer.checkpointing.period_steps"});
  }
}

void of_evaluation(const JobConfig& job, Issues& issues) {
  const CheckpointingConfig& checkpoints = job.trainer.checkpointing;
  const bool all = !checkpoints.num_to_keep || checkpoints.period_steps.kind == config::Period::Kind::disable;
  if (!job.evaluation || !job.evaluation->keep_best || !all) return;
  issues.push_back({"evaluation.keep_best", "no checkpoint is removed",
                    "leave it out, or set trainer.checkpointing.num_to_keep"});
}

// A plugin's model may have frozen parameters that no key tells of.
void of_frozen(const JobConfig& job, Issues& issues) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (!family || family->peft || !job.trainer.model_stage_factory.checkpoint_only_trainable_parameters)
    return;
  issues.push_back({"trainer.model_stage_factory.checkpoint_only_trainable_parameters",
                    "all parameters train", "leave it out, or set model_provider.peft"});
}

void of_results(const JobConfig& job, Issues& issues) {
  const bool of_plugin = std::holds_alternative<config::Named>(job.task);  // what it calls so
  if (!job.inference && !of_plugin)
    issues.push_back({"task.results", "a job that trains has no results", "leave it out"});
}

void of_export(const JobConfig& job, Issues& issues) {
  if (!job.export_to)
    issues.push_back({"export_shard_gb", "nothing is exported", "leave it out, or set export_to"});
  if (job.export_to || job.export_adapter_to) return;
  issues.push_back({"export", "nothing is exported", "leave it out, or set export_to"});
  issues.push_back(
      {"trainer.timeout.export_timeout", "nothing is exported", "leave it out, or set export_to"});
}

void of_optimizer(const OptimizerConfig& optimizer, Issues& issues) {
  const auto* sgd = std::get_if<SgdOptions>(&optimizer);
  if (sgd == nullptr || sgd->momentum > 0) return;
  issues.push_back({"optimizer.dampening", "there is no momentum", "leave it out, or set momentum"});
}

bool names_a_piece_of_a_plugin(const JobConfig& job) {
  const auto is_own = [](const auto& choice) { return std::holds_alternative<config::Named>(choice); };
  const auto is_own_data = [](const DataConfig& data) {
    return std::ranges::any_of(parts_of(data), [](const DataPart& part) {
      return std::holds_alternative<OwnDataConfig>(part.source);
    });
  };
  const auto is_own_tracker = [](const TrackerConfig& tracker) {
    return std::holds_alternative<OwnTracker>(tracker);
  };
  return is_own(job.model_provider) || is_own(job.task) || is_own(job.optimizer) ||
         (job.lr_scheduler && is_own(*job.lr_scheduler)) || is_own_data(job.data) ||
         (job.evaluation && is_own_data(job.evaluation->data)) || job.collation || !job.actors.empty() ||
         !job.gradient_hooks.empty() ||
         std::holds_alternative<OwnSchedule>(job.trainer.pipelining.schedule) ||
         std::ranges::any_of(job.trainer.logging.tracker.items, is_own_tracker);
}

void of_overlap(const JobConfig& job, Issues& issues) {
  const PipeliningConfig& pipelining = job.trainer.pipelining;
  const bool on_device = job.node.device != DeviceKind::cpu;
  const char* const path = "trainer.pipelining.overlap";
  if (!composes_actions(pipelining.schedule)) {
    issues.push_back({path, fmt::format("schedule {} composes no actions", name_of(pipelining.schedule)),
                      "leave it out, or choose dual_pipe_v"});
  } else if (pipelining.overlap == Overlap::always && on_device && job.debug.synchronous_device) {
    issues.push_back({path, "the host waits for the device after each action (debug.synchronous_device)",
                      "leave one of the two out"});
  }
}

// What only a built-in model's description can say.
void of_plugins(const JobConfig& job, Issues& issues) {
  const bool own_model = std::holds_alternative<config::Named>(job.model_provider);
  if (own_model && job.trainer.pipelining.layer_split == LayerSplit::costs) {
    issues.push_back(
        {"trainer.pipelining.layer_split", "a plugin's model says nothing of its costs", "leave it out"});
  }
  if (own_model && job.trainer.logging.expert_load != LoggedLoad::none) {
    issues.push_back(
        {"trainer.logging.expert_load", "a plugin's model says nothing of its experts", "leave it out"});
  }
  if (own_model && job.trainer.logging.peak_flops) {
    issues.push_back(
        {"trainer.logging.peak_flops", "a plugin's model says nothing of its operations", "leave it out"});
  }
  if (own_model && job.trainer.logging.measure_peak) {
    issues.push_back(
        {"trainer.logging.measure_peak", "a plugin's model says nothing of its operations", "leave it out"});
  }
  if (job.plugins.empty() || names_a_piece_of_a_plugin(job)) return;
  issues.push_back(
      {"plugins",
       "neither model_provider, data, collation, task, optimizer, lr_scheduler, schedule, tracker, "
       "gradient_hooks nor actors name anything of them",
       "leave it out"});
}

void of_masters(const JobConfig& job, Issues& issues) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (!family || family->dtype != Dtype::float32) return;
  issues.push_back({"optimizer.master_weights", "the parameters are float32 themselves", "leave it out"});
}

void of_checkpointing(const JobConfig& job, Issues& issues) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (!family || family->enable_checkpointing) return;
  issues.push_back({"model_provider.checkpoint_keeps", "no layer is computed again in backward",
                    "leave it out, or set model_provider.enable_checkpointing: true"});
}

// As in transformers. A folder's config.json may say that it counts.
void of_balance(const JobConfig& job, Issues& issues) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (!family || !family->model.keys.is_object()) return;
  const auto given = [&](const char* key) { return family->model.keys.value(key, config::Json()); };
  const config::Json wanted = given("output_router_logits");
  const bool may_count = wanted.is_null() ? family->from.has_value() : wanted == config::Json(true);
  if (may_count || given("router_aux_loss_coef").is_null()) return;
  issues.push_back({"model_provider.model.router_aux_loss_coef",
                    "without output_router_logits the training loss is without that of the experts' balance",
                    "leave it out, or set output_router_logits: true"});
}

void of_devices(const NodeConfig& node, Issues& issues) {
  if (node.clear_collectives && !node.tls)
    issues.push_back({"node.clear_collectives", "nothing is under TLS (node.tls)", "leave it out"});
  if (node.device != DeviceKind::cpu) return;
  const auto refuse = [&](bool given, const char* path) {
    if (given) issues.push_back({path, "the ranks compute on the CPU (node.device)", "leave it out"});
  };
  refuse(node.devices.has_value(), "node.devices");
  refuse(node.collectives.has_value(), "node.collectives");
  refuse(node.clear_collectives && node.tls, "node.clear_collectives");
}

}  // namespace

std::vector<JobIssue> without_effect(const JobConfig& job) {
  Issues issues;
  of_data(job.data, issues);
  of_profiling(job, issues);
  of_statistics(job, issues);
  of_checkpoints(job.trainer, issues);
  of_evaluation(job, issues);
  of_frozen(job, issues);
  of_results(job, issues);
  of_export(job, issues);
  of_optimizer(job.optimizer, issues);
  of_overlap(job, issues);
  of_plugins(job, issues);
  of_masters(job, issues);
  of_checkpointing(job, issues);
  of_balance(job, issues);
  of_devices(job.node, issues);
  return issues;
}

}  // namespace d9d
