#include "actors/job/run/preparation.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/actor.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "actors/job/run/backends.hpp"
#include "actors/job/run/findings.hpp"
#include "actors/job/run/leave_watch.hpp"
#include "actors/job/run/process_options.hpp"
#include "actors/job/run/sources.hpp"
#include "actors/step_actor.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/own_schedule_check.hpp"
#include "runtime/launch/job_token.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/node_address.hpp"
#include "runtime/launch/port_probe.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/plugin/tracker_runs.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/resume/own_folders.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/model/export_work.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

// Runs a factory of users' code. One that blocks cannot be taken back, so the process ends at the deadline.
void within_deadline(const JobConfig& job, const std::string& what, const std::function<void()>& make) {
  const std::chrono::seconds timeout(job.trainer.timeout.init_timeout);
  const LeaveWatch watch(timeout, [&] {
    log::error(
        "{} has not returned for {} s (trainer.timeout.init_timeout). Raise the deadline if it is "
        "really that slow",
        what, timeout.count());
    leave_process(1);
  });
  make();
}

void load_plugins(const JobConfig& job, PreparedJob& prepared, Findings& findings) {
  for (const std::string& plugin : job.plugins) {
    findings.attempt("", [&] {
      within_deadline(job, "registering what the plugin " + plugin + " has", [&] {
        load_plugin(plugin, prepared.registry);
        load_plugin_actors(plugin, prepared.user_actors);
      });
    });
  }
}

void make_trackers(const JobConfig& job, const PreparedJob& prepared, Findings& findings) {
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    const auto* own = std::get_if<OwnTracker>(&tracker);
    if (own == nullptr) continue;
    findings.attempt("trainer.logging.tracker", [&] {
      within_deadline(job, fmt::format("the factory of the tracker \"{}\"", own->name),
                      [&] { prepared.registry.make_tracker(own->name, own->options); });
    });
  }
}

ActorTexts texts_of(const std::string& name, const TextRequest& request) {
  ActorTexts texts{.actor = name,
                   .prompts = static_cast<std::int64_t>(request.prompts.size()),
                   .new_tokens = request.options.max_new_tokens};
  for (const auto& prompt : request.prompts)
    texts.prompt_tokens = std::max(texts.prompt_tokens, static_cast<std::int64_t>(prompt.size()));
  return texts;
}

void make_actors(const JobConfig& job, PreparedJob& prepared, Findings& findings) {
  prepared.user_actors.set_context(prepared.registry.context());
  const SystemClock clock;
  World world{.clock = clock};
  for (std::size_t i = 0; i < job.actors.size(); ++i) {
    const config::Named& named = job.actors[i];
    const ActorRegistry::Make* make = nullptr;
    if (!findings.attempt("", [&] { make = &prepared.user_actors.find(named.name); })) continue;
    const std::string factory = fmt::format("the factory of the actor \"{}\"", named.name);
    findings.attempt(factory + " threw", [&] {
      within_deadline(job, fmt::format("actors.{}: {} (its prepare())", i, factory), [&] {
        const auto actor = (*make)(world, named.options);
        auto* const follower = dynamic_cast<StepActor*>(actor.get());
        if (follower == nullptr) return;
        follower->set_vocabulary(prepared.vocabulary);
        prepared.actor_texts.push_back(texts_of(named.name, follower->texts_asked_for()));
      });
    });
  }
}

// Checks the weights to start from by the headers of their files.
void look_at_source(const Disk& disk, const JobConfig& job, PreparedJob& prepared, Findings& findings) {
  const auto& source = job.trainer.model_stage_factory.source_checkpoint;
  if (!source || !prepared.model) return;
  findings.attempt("trainer.model_stage_factory.source_checkpoint", [&] {
    const bool of_plugin = std::holds_alternative<config::Named>(job.model_provider);
    D9D_REQUIRE(of_plugin || !disk.exists(join_path(*source, manifest_name)),
                "{0} is a checkpoint of a run; make a model's folder of it (d9d-node export {0} FOLDER) and "
                "give that",
                *source);
    prepared.warnings = prepared.model->check_source(*source);
  });
}

void look_at_export(const JobConfig& job, const PreparedJob& prepared, Findings& findings) {
  if (!job.export_to || !prepared.model) return;
  findings.attempt("export_to",
                   [&] { prepared.model->check_export({.shard_bytes_max = job.export_shard_bytes()}); });
}

// Checks that folders to be written belong to this job.
void look_at_own_folders(const JobConfig& job, Findings& findings) {
  const auto look = [&](const char* key, const std::optional<std::string>& folder) {
    if (folder) findings.attempt("", [&] { require_own_folder(key, *folder, job); });
  };
  look("export_to", job.export_to);
  look("export_adapter_to", job.export_adapter_to);
  if (job.inference) findings.attempt("", [&] { require_own_results(job); });
}

// Makes the pieces that the job names. All but the model, the schedule and the sources of data are made
// only to find what is wrong with their sections, which are read when a piece is made.
void make_pieces(const LoadedJob& loaded, PreparedJob& prepared, Findings& findings) {
  const JobConfig& job = loaded.job;
  const Registry& registry = prepared.registry;
  const auto attempt = [&](const char* key, const std::function<void()>& make) {
    findings.attempt(key, [&] { within_deadline(job, fmt::format("{}: its factory", key), make); });
  };
  attempt("model_provider", [&] {
    prepared.model = make_model(registry, job);
    prepared.vocabulary = loaded.model ? loaded.model->vocab_size : prepared.model->vocab_size();
  });
  attempt("task", [&] {
    if (job.inference) {
      prepared.labels = labels_for(job, *make_inference_task(registry, job, 0));
    } else {
      const auto task = make_task(registry, job);
      prepared.labels = labels_for(job, *task);
      prepared.phases = call_user("the task's phases", ErrorInside::passes,
                                  [&] { return StepPhases(task->phases(), task->updates()); });
      require_phases(job, prepared.phases);
    }
  });
  attempt("trainer.pipelining.schedule", [&] {
    prepared.schedule = make_schedule(registry, job);
    if (const auto* own = std::get_if<OwnSchedule>(&prepared.schedule))
      require_own_schedule(*own, loaded, prepared.phases);
  });
  attempt("collation", [&] { prepared.collation = make_collation(registry, job); });
  attempt("gradient_hooks", [&] { make_gradient_hooks(registry, job); });
  attempt("optimizer", [&] { prepared.optimizer = make_optimizer(registry, job); });
  attempt("lr_scheduler", [&] { prepared.lr_schedule = make_lr_schedule(registry, job); });
  make_actors(job, prepared, findings);
  make_trackers(job, prepared, findings);
}

// An address that the user names must be free. Without one the process takes a free port of loopback.
void look_at_port(const JobConfig& job, const RunOptions& options) {
  const AddressOptions address = address_options(job, options);
  const bool named = options.listen || (job.node.listen && !options.join);
  if (!named || !address.listen) return;
  require_bindable(address.listen->host, address.listen->port, options.listen ? "--listen" : "node.listen");
}

void look_at_connections(const JobConfig& job, const RunOptions& options, Findings& findings) {
  findings.attempt("", [&] { look_at_port(job, options); });
  if (job.node.status && !options.join) {
    findings.attempt("", [&] {
      const HostPort address = status_address(job);
      require_bindable(address.host, address.port, "node.status");
    });
  }
  findings.attempt("", [&] { job_token(job.node, environment_variables()); });
  findings.attempt("", [&] { tls_of(job); });
}

void choose_backends(const LoadedJob& loaded, PreparedJob& prepared) {
  prepared.backends = backends_of(loaded);
  const bool has_experts = loaded.model == nullptr || loaded.model->experts_per_layer() > 0;
  if (!has_experts && loaded.job.node.grouped_product != kernels::GroupedBackend::auto_)
    prepared.warnings.emplace_back(
        "node.grouped_product has no effect: the model has no experts; leave it out");
}

}  // namespace

PreparedJob prepare_job(const LoadedJob& loaded, const RunOptions& options, Disk& disk,
                        std::optional<JobPlan> plan) {
  const JobConfig& job = loaded.job;
  PreparedJob prepared;
  Findings findings;
  prepared.registry = builtin_registry(loaded, disk);
  load_plugins(job, prepared, findings);
  findings.throw_if_any();  // without its plugin every name of it would be unknown
  make_pieces(loaded, prepared, findings);
  look_at_source(disk, job, prepared, findings);
  look_at_export(job, prepared, findings);
  look_at_own_folders(job, findings);
  open_sources(loaded, options, disk, prepared, findings);
  look_at_connections(job, options, findings);
  findings.attempt("", [&] { choose_backends(loaded, prepared); });
  if (!options.join) {  // what only node 0 has
    findings.attempt("trainer.logging.tracker", [&] { require_tracker_clients(job); });
    findings.attempt("", [&] { look_at_folders(job); });
  }
  findings.throw_if_any();
  prepared.plan = plan ? *std::move(plan) : plan_job(loaded, prepared.schedule);
  return prepared;
}

}  // namespace d9d
