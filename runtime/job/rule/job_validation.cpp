#include "runtime/job/rule/job_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <functional>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/config/scalar.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/rule/backend_rules.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/job/rule/data_rules.hpp"
#include "runtime/job/rule/evaluation_rules.hpp"
#include "runtime/job/rule/generation_rules.hpp"
#include "runtime/job/rule/head_rules.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"
#include "runtime/job/rule/parameter_patterns.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/size/model_costs.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

void check_run_name(const JobConfig& job, Issues& issues) {
  const std::string& name = job.trainer.run.name;
  const bool bad =
      name.find_first_not_of(' ') == std::string::npos || name.front() == ' ' || name.back() == ' ' ||
      name == "." || name == ".." || name.size() > NAME_MAX ||
      std::ranges::any_of(name, [](unsigned char c) { return c == '/' || c == '\\' || c < ' '; });
  if (!bad) return;
  issues.push_back({"trainer.run.name", json_text(nlohmann::json(name)) + " cannot be the name of a folder",
                    "use letters, digits, `-` and `_`"});
}

bool check_mesh(const JobConfig& job, Issues& issues) {
  try {
    job.mesh.validate();
    return true;
  } catch (const Error& error) {
    issues.push_back({"mesh", error.what(), ""});
    return false;
  }
}

// A path of nothing would be the working directory, or no folder at all.
void check_folders(const JobConfig& job, Issues& issues) {
  const auto check = [&](const char* key, const std::optional<std::string>& folder) {
    if (folder && folder->empty())
      issues.push_back({key, "\"\", which names no folder", "name one, or leave the key out"});
  };
  check("export_to", job.export_to);
  check("export_adapter_to", job.export_adapter_to);
  check("output_dir", job.output_dir);
  check("trainer.model_stage_factory.source_checkpoint", job.trainer.model_stage_factory.source_checkpoint);
}

void check_parallelism(const JobConfig& job, Issues& issues) {
  const int shards = job.mesh.data_parallel_shard * job.mesh.context_parallel_shard;
  if (!job.parallelism.zero1 || shards == 1) return;
  issues.push_back(
      {"parallelism.zero1",
       fmt::format("true, but parameters lie in {} parts already (fully_shard), and the optimizer state with "
                   "them",
                   shards),
       "set it to false, or move the ranks to mesh.data_parallel_replicate"});
}

void check_dtypes(const JobConfig& job, Issues& issues) {
  const auto dtype_of = [](const auto& provider) -> std::optional<Dtype> {
    if constexpr (requires { provider.dtype; }) return provider.dtype;
    return std::nullopt;
  };
  const std::optional<Dtype> dtype = std::visit(dtype_of, job.model_provider);
  if (dtype != Dtype::float32) return;
  if (std::holds_alternative<StochasticAdamWOptions>(job.optimizer)) {
    issues.push_back({"optimizer.name", "stochastic_adamw is for bfloat16 parameters, these are float32",
                      "choose adamw, or set model_provider.dtype to bfloat16"});
  }
  if (job.trainer.gradient_manager.grad_dtype == Dtype::bfloat16) {
    issues.push_back({"trainer.gradient_manager.grad_dtype", "bfloat16 gradients of float32 parameters",
                      "choose float32 or null"});
  }
}

void check_ranks(const JobConfig& job, Issues& issues) {
  if (!job.node.ranks) return;
  const std::int64_t ranks = *job.node.ranks;
  const std::int64_t world = job.mesh.world_size();
  if (world % ranks == 0) return;
  issues.push_back({"node.ranks",
                    ranks > world
                        ? fmt::format("{}, but the mesh has only {}", counted(ranks, "rank"), world)
                        : fmt::format("{} ranks a node do not divide the {} of the mesh", ranks, world),
                    fmt::format("set node.ranks to {}, or change a degree of `mesh`", world)});
}

// How many ranks this host has the launcher may say, so the rest is looked at when the command starts.
void check_processes(const NodeConfig& node, Issues& issues) {
  if (!node.processes || !node.processes->per_device || node.device != DeviceKind::cpu) return;
  issues.push_back({"node.processes", "per_device, but the ranks compute on the CPU (node.device)",
                    "give a number of processes, or leave it out"});
}

// d9d's own tasks count no row without labels; what a plugin does with one is not known.
void check_last_batch(const JobConfig& job, Issues& issues) {
  if (job.trainer.batching.drop_last || job.inference) return;
  const bool own_task = std::holds_alternative<config::Named>(job.task);
  if (!own_task && !job.collation) return;
  issues.push_back(
      {"trainer.batching.drop_last",
       fmt::format("a last batch that is filled up, and a {} of a plugin, which might count the rows "
                   "that fill it up",
                   own_task ? "task" : "collation"),
       "leave it out"});
}

void check_data_loading(const JobConfig& job, Issues& issues) {
  const DataLoadingConfig& loading = job.trainer.data_loading;
  if (loading.timeout == 0 || loading.num_workers > 0) return;
  issues.push_back({"trainer.data_loading.timeout", "the loader itself reads, and nothing waits for it",
                    "give data_loading.num_workers: 1 or more, or leave it out"});
}

bool check_batching(const JobConfig& job, Issues& issues) {
  const BatchingConfig& batching = job.trainer.batching;
  check_last_batch(job, issues);
  check_data_loading(job, issues);
  const std::int64_t replicas = job.mesh.data_parallel();
  const std::int64_t unit = replicas * batching.microbatch_size;
  const std::int64_t rest = batching.global_batch_size % unit;
  if (rest == 0) return true;
  const std::int64_t below = batching.global_batch_size - rest;
  issues.push_back(
      {"trainer.batching.global_batch_size",
       fmt::format("{} is not divisible by data replicas ({}) x microbatch_size ({})",
                   batching.global_batch_size, replicas, batching.microbatch_size),
       below == 0 ? fmt::format("give {}", unit) : fmt::format("give {} or {}", below, below + unit)});
  return false;
}

void check_schedule(const JobConfig& job, Issues& issues) {
  const ScheduleConfig& schedule = job.trainer.pipelining.schedule;
  const std::int64_t microbatches = microbatches_per_step(job);
  const std::int64_t ranks = job.mesh.pipeline_parallel;
  const char* path = "trainer.pipelining.schedule";
  if (!serves(schedule, ranks, microbatches)) {
    issues.push_back(
        {path,
         fmt::format("dual_pipe_v needs at least 2 x pipeline_parallel ({}) microbatches a step, there "
                     "are {}",
                     ranks, microbatches),
         "raise global_batch_size or lower microbatch_size"});
  }
  const auto* searched = std::get_if<AutoSchedule>(&schedule);
  if (searched && searched->activations_max && *searched->activations_max < searched->num_stages_per_rank) {
    issues.push_back(
        {std::string(path) + ".activations_max",
         fmt::format("{} is less than one microbatch takes on a rank of {}", *searched->activations_max,
                     counted(searched->num_stages_per_rank, "stage")),
         fmt::format("give at least {}, or null", searched->num_stages_per_rank)});
  }
  const int extra = job.trainer.pipelining.extra_activations;
  const bool is_dynamic = job.trainer.pipelining.order == CursorOrder::dynamic;
  if (extra > 0 && !is_dynamic) {
    issues.push_back({"trainer.pipelining.extra_activations",
                      "a static order never holds more than its program",
                      "give 0, or choose order: dynamic"});
  }
  if (std::holds_alternative<InferenceSchedule>(schedule) && !job.inference) {
    issues.push_back({path, "inference runs no backwards, so it cannot train", "choose gpipe or 1f1b"});
  }
}

void check_stages(const JobConfig& job, const ModelDescription& model, Issues& issues) {
  const std::int64_t per_rank = stages_per_rank(job.trainer.pipelining.schedule);
  const std::int64_t stages = job.mesh.pipeline_parallel * per_rank;
  try {
    StageSplit split;
    if (job.trainer.pipelining.layer_split == LayerSplit::costs) split.costs = layer_costs(model, 1);
    layers_of_stages(model, static_cast<int>(stages), split);
  } catch (const Error& error) {
    issues.push_back({"mesh.pipeline_parallel",
                      fmt::format("{} over {}: {}", counted(stages, "stage"),
                                  counted(model.num_hidden_layers, "layer"), error.what()),
                      ""});
  }
}

void check_rules(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  std::vector<JobIssue> found = head_issues(job, model);
  for (JobIssue& issue : peft_issues(job, model)) found.push_back(std::move(issue));
  if (found.empty()) {
    found = rule_issues(job, model);
    for (JobIssue& issue : pattern_issues(job, model)) found.push_back(std::move(issue));
  }
  for (JobIssue& issue : found) issues.push_back(std::move(issue));
}

void check_experts(const JobConfig& job, const ModelDescription& model, Issues& issues) {
  const int degree = job.mesh.expert_parallel;
  if (degree == 1) return;
  const std::int64_t experts = model.experts_per_layer();
  if (experts == 0) {
    issues.push_back({"mesh.expert_parallel", fmt::format("{}, and the model has no experts", degree),
                      "set it to 1, or choose a model_provider with experts"});
  } else if (experts % degree != 0) {
    issues.push_back({"mesh.expert_parallel",
                      fmt::format("{} does not divide the model's {}", degree, counted(experts, "expert")),
                      "choose a divisor of model_provider.model.num_experts"});
  }
}

void check_tensor_parallel(const JobConfig& job, const ModelDescription& model, Issues& issues) {
  try {
    model.require_tensor_parallel(job.mesh.tensor_parallel);
    require_divisible_parts(model.vocabulary_parts, job.mesh.tensor_parallel);
  } catch (const Error& error) {
    issues.push_back({"mesh", error.what(), ""});
  }
}

void check_context_parallel(const JobConfig& job, const ModelDescription& model, Issues& issues) {
  try {
    model.require_context_parallel(job.mesh.context_parallel());
  } catch (const Error& error) {
    issues.push_back({"mesh", error.what(), ""});
  }
}

// 312 is meant as 312 TFLOP/s; nothing that trains is slower than this.
void check_peak(const JobConfig& job, Issues& issues) {
  constexpr double slowest = 1e9;
  const auto& logging = job.trainer.logging;
  if (logging.peak_flops && *logging.peak_flops < slowest) {
    issues.push_back({"trainer.logging.peak_flops",
                      fmt::format("{:g} FLOP/s of a device", *logging.peak_flops),
                      "give FLOP/s: 312e12 for 312 TFLOP/s"});
  }
  if (logging.peak_flops && logging.measure_peak) {
    issues.push_back({"trainer.logging.measure_peak", "the peak is given (peak_flops) and to be measured",
                      "leave one of them out"});
  }
}

void check_profiling(const JobConfig& job, Issues& issues) {
  const auto& profiling = job.trainer.profiling;
  if (!profiling || !profiling->enabled) return;
  const std::int64_t used = profiling->active_steps;
  if (used <= profiling->period_steps) return;
  issues.push_back({"trainer.profiling.period_steps",
                    fmt::format("{} is shorter than active_steps ({})", profiling->period_steps, used),
                    fmt::format("give at least {}", used)});
}

void check_length(const JobConfig& job, Issues& issues) {
  const bool endless = std::holds_alternative<SyntheticDataConfig>(job.data);
  if (endless && !job.trainer.schedule.total_steps) {
    issues.push_back({"trainer.schedule.total_steps", "missing, and synthetic data never ends",
                      "add the number of optimizer steps, e.g. `total_steps: 100`"});
    return;
  }
  try {
    // Without a length only phases of mode `steps` can be checked; the others wait for the data's length.
    if (job.trainer.schedule.total_steps) build_lr(job);
  } catch (const Error& error) {
    issues.push_back({"lr_scheduler", error.what(), ""});
  }
  const auto* piecewise = job.lr_scheduler ? std::get_if<PiecewiseLrProvider>(&*job.lr_scheduler) : nullptr;
  if (piecewise && piecewise->scheduler.phases.empty() && !job.trainer.schedule.total_steps) {
    issues.push_back(
        {"lr_scheduler.scheduler.phases", "an empty list", "give at least one phase, e.g. mode: rest"});
  }
}

// None where the text is good.
void check_text(const std::string& path, const std::optional<std::string>& text, const char* form,
                Issues& issues, const std::function<void(const std::string&)>& parse) {
  try {
    if (text) parse(*text);
  } catch (const Error&) {
    issues.push_back({path, fmt::format("\"{}\" is not {}", *text, form),
                      "write for example 10.0.0.1:29500 or [fd00::1]:29500"});
  }
}

// Nothing as a secret would keep nobody out.
void check_token(const NodeConfig& node, Issues& issues) {
  if (node.job_token && node.job_token->empty()) {
    issues.push_back(
        {"node.job_token", "empty, which keeps nobody out", "give a secret, or leave the key out"});
  }
  if (node.job_token && node.job_token_file) {
    issues.push_back({"node.job_token_file", "node.job_token is given, too", "leave one of them out"});
  }
}

void check_network(const JobConfig& job, Issues& issues) {
  const NodeConfig& node = job.node;
  check_token(node, issues);
  std::string host = "localhost";
  check_text("node.listen", node.listen, "HOST:PORT", issues,
             [&](const std::string& text) { host = parse_host_port(text, "node.listen").host; });
  std::string page = "localhost";
  check_text("node.status", node.status, "HOST:PORT", issues,
             [&](const std::string& text) { page = parse_host_port(text, "node.status").host; });
  check_text("node.advertise", node.advertise, "HOST or HOST:PORT", issues,
             [](const std::string& text) { parse_host_maybe_port(text, "node.advertise"); });
  if (node.tls || node.insecure) return;
  if (!is_loopback(page)) {
    issues.push_back(
        {"node.status",
         fmt::format("{} can be reached from other hosts and nothing protects it", *node.status),
         "give 127.0.0.1:PORT (ssh -L leads there), `node.tls`, or set `node.insecure: true` in a network "
         "you trust"});
  }
  if (is_loopback(host)) return;
  issues.push_back(
      {"node.listen", fmt::format("{} can be reached from other hosts and there is no TLS", *node.listen),
       "give `node.tls`, listen on 127.0.0.1, or set `node.insecure: true` in a network you trust"});
}

// A name that is not built in is a plugin's; without plugins it is a slip of the pen.
template <class Variant>
void check_name(const std::string& path, const Variant& choice, const JobConfig& job, Issues& issues) {
  const auto* named = std::get_if<std::variant_size_v<Variant> - 1>(&choice);
  if (!named || !job.plugins.empty()) return;
  issues.push_back({path, fmt::format("\"{}\" is not known", named->name),
                    config::suggestion(named->name, config::Codec<Variant>::names()) +
                        " (one of your own needs its library in `plugins`)"});
}

void check_trackers(const JobConfig& job, Issues& issues) {
  const auto& trackers = job.trainer.logging.tracker.items;
  for (std::size_t i = 0; i < trackers.size(); ++i) {
    const std::string item = trackers.size() == 1 ? "" : fmt::format(".{}", i);
    check_name(fmt::format("trainer.logging.tracker{}.provider", item), trackers[i], job, issues);
  }
}

void check_names(const JobConfig& job, Issues& issues) {
  check_trackers(job, issues);
  check_name("model_provider.name", job.model_provider, job, issues);
  check_name("optimizer.name", job.optimizer, job, issues);
  check_name("task.name", job.task, job, issues);
  check_name("trainer.pipelining.schedule.schedule", job.trainer.pipelining.schedule, job, issues);
  if (job.lr_scheduler) check_name("lr_scheduler.name", *job.lr_scheduler, job, issues);
  if (!job.actors.empty() && job.plugins.empty()) {
    issues.push_back({"actors", "actors of your own, but no library that has them", "name it in `plugins`"});
  }
  if (job.collation && job.plugins.empty()) {
    issues.push_back(
        {"collation", "a collation of your own, but no library that has it", "name it in `plugins`"});
  }
}

}  // namespace

std::vector<JobIssue> validate(const JobConfig& job, const FamilyModel* model) {
  Issues issues;
  check_run_name(job, issues);
  check_folders(job, issues);
  if (check_mesh(job, issues)) {
    check_ranks(job, issues);
    check_processes(job.node, issues);
    check_parallelism(job, issues);
    if (check_batching(job, issues)) check_schedule(job, issues);
    if (model) check_stages(job, *model, issues);
    if (model) check_experts(job, *model, issues);
    if (model) check_rules(job, *model, issues);
    if (model) check_tensor_parallel(job, *model, issues);
    if (model) check_context_parallel(job, *model, issues);
    for (JobIssue& issue : context_issues(job, model)) issues.push_back(std::move(issue));
  }
  for (JobIssue& issue : generation_issues(job, model)) issues.push_back(std::move(issue));
  check_dtypes(job, issues);
  check_peak(job, issues);
  check_profiling(job, issues);
  check_length(job, issues);
  for (JobIssue& issue : data_issues(job, model)) issues.push_back(std::move(issue));
  for (JobIssue& issue : evaluation_issues(job, model)) issues.push_back(std::move(issue));
  const kernels::Backends backends{job.node.attention, job.node.grouped_product};
  for (JobIssue& issue : backend_issues(backends, job, model)) issues.push_back(std::move(issue));
  check_network(job, issues);
  check_names(job, issues);
  return issues;
}

}  // namespace d9d
