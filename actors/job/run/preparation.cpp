#include "actors/job/run/preparation.hpp"

#include "actors/core/actor.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "actors/job/run/backends.hpp"
#include "actors/job/run/findings.hpp"
#include "actors/job/run/process_options.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_length.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/own_schedule_check.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/launch/job_token.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/node_address.hpp"
#include "runtime/launch/port_probe.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/plugin/tracker_runs.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/resume/own_folders.hpp"
#include "runtime/resume/schedule_steps.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/model/export_work.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/train/lr/phase_texts.hpp"

namespace d9d {
namespace {

void load_plugins(const JobConfig& job, PreparedJob& prepared, Findings& findings) {
  for (const std::string& plugin : job.plugins) {
    findings.attempt("", [&] {
      load_plugin(plugin, prepared.registry);
      load_plugin_actors(plugin, prepared.user_actors);
    });
  }
}

void make_trackers(const JobConfig& job, const PreparedJob& prepared, Findings& findings) {
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    const auto* own = std::get_if<OwnTracker>(&tracker);
    if (own == nullptr) continue;
    findings.attempt("trainer.logging.tracker",
                     [&] { prepared.registry.make_tracker(own->name, own->options); });
  }
}

void make_actors(const JobConfig& job, PreparedJob& prepared, Findings& findings) {
  prepared.user_actors.set_context(prepared.registry.context());
  const SystemClock clock;
  World world{.clock = clock};
  for (std::size_t i = 0; i < job.actors.size(); ++i) {
    const config::Named& named = job.actors[i];
    const ActorRegistry::Make* make = nullptr;
    if (!findings.attempt("", [&] { make = &prepared.user_actors.find(named.name); })) continue;
    findings.attempt(fmt::format("the factory of the actor \"{}\" threw", named.name),
                     [&] { (*make)(world, named.options); });
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

void look_through_ids(const SampleSource& source, PreparedJob& prepared) {
  const auto scanned = source.scan_ids({});
  if (!scanned || scanned->samples == scanned->all) return;
  prepared.warnings.push_back(
      fmt::format("data: only the first {} of {} were looked through for ids beyond the vocabulary and other "
                  "mistakes; the others are looked at when their step comes",
                  scanned->samples, counted(scanned->all, scanned->unit)));
}

// Warns if the job ends within a phase of its learning rate. Only for jobs whose length the data says: of
// the others load_job() has warned.
void warn_of_cut_phase(const JobConfig& job, std::int64_t steps, PreparedJob& prepared) {
  const auto& scheduler = job.lr_scheduler;
  if (!scheduler || std::holds_alternative<config::Named>(*scheduler) || job.trainer.schedule.total_steps)
    return;
  if (const auto cut = cut_phase(build_lr(as_phases(*scheduler, steps), steps), steps))
    prepared.warnings.push_back("lr_scheduler: " + *cut);
}

// Looks at the first thousand samples, because a part of a mixture may have samples of several lengths.
void require_lengths(const JobConfig& job, const SampleSource& source) {
  if (!job.trainer.batching.cut_to_longest) return;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(source.num_samples().value_or(1000), 1000); ++i) {
    if (source.sort_key(i)) return;
  }
  throw Error(
      ErrorKind::input,
      fmt::format("{}.batching.cut_to_longest: the samples of this source all have one length; leave it "
                  "out, or have samples of several lengths (samples: document, or a source of your own "
                  "with sort_key())",
                  job.inference ? "inference" : "trainer"));
}

// Texts are written between steps of training, token after token.
void require_rollouts(const LoadedJob& loaded, const SampleSource& source) {
  if (!source.is_rollouts()) return;
  static constexpr const char* writes = "data: the model writes the source's texts while it trains";
  D9D_REQUIRE(!loaded.job.inference,
              "{}, and this job infers; take the task generation and a source of prompts", writes);
  D9D_REQUIRE(!loaded.model || loaded.model->causal,
              "{}, and this model, whose tokens see those after them, writes none; take a causal one",
              writes);
  D9D_REQUIRE(loaded.job.mesh.context_parallel() == 1,
              "{}, and ranks that share sequences cannot; set the mesh's context_parallel degrees to 1",
              writes);
}

// Where a start goes on. A guess by the sizes of the newest checkpoint's files: the start itself reads
// their contents, and computes the length of the job again.
struct Beginning {
  JobPosition at{};
  std::string state{};   // JSON of the checkpoint
  bool is_known = true;  // false: only node 0 knows
};
Beginning next_beginning(const Disk& disk, const JobConfig& job) {
  try {
    for (const FoundCheckpoint& found : find_checkpoints(disk, checkpoint_dir(job).string())) {
      if (damage_of(disk, found, Check::sizes)) continue;
      const Manifest manifest = read_manifest(disk, found.path);
      return {{manifest.step, manifest.data_cursor}, manifest.extra};
    }
  } catch (const Error&) {
    // The start reads the same folder and says what is wrong.
  }
  return {};
}

void open_data(const LoadedJob& loaded, const Beginning& beginning,
               const std::shared_ptr<SharedCorpora>& share, PreparedJob& prepared, Findings& findings) {
  const bool open = findings.attempt("", [&] {
    prepared.source = make_source(prepared.registry, loaded.job.data, loaded, SourceUse::of_job, share);
  });
  if (!open) return;
  const SampleSource& source = *prepared.source;
  findings.attempt("", [&] { require_sequence(loaded.job, loaded.model.get(), source.sequence_length()); });
  findings.attempt("", [&] { require_rollouts(loaded, source); });
  findings.attempt("", [&] { require_lengths(loaded.job, source); });
  findings.attempt("", [&] { look_through_ids(source, prepared); });
  findings.attempt("", [&] {
    prepared.num_samples = source.num_samples();
    prepared.end_sample = end_of_data(loaded.job.data, prepared.num_samples);
    if (!beginning.is_known) return;
    prepared.total_steps = last_step_of(loaded.job, prepared.num_samples, beginning.at);
    prepared.left_out =
        samples_left_out(loaded.job, prepared.num_samples, prepared.total_steps, beginning.at);
    // Some phases of a learning rate are checked only now, because they need the length of the job.
    if (!prepared.lr_schedule) return;
    const std::uint64_t steps = ScheduleSteps(loaded.job, prepared.num_samples, beginning.at,
                                              first_batch_of(beginning.state, loaded.job))
                                    .total();
    step_multiplier(*prepared.lr_schedule, steps);
    warn_of_cut_phase(loaded.job, static_cast<std::int64_t>(steps), prepared);
  });
}

void open_evaluation(const LoadedJob& loaded, const std::shared_ptr<SharedCorpora>& share,
                     PreparedJob& prepared, Findings& findings) {
  if (!loaded.job.evaluation) return;
  findings.attempt("evaluation", [&] {
    const auto source =
        make_source(prepared.registry, loaded.job.evaluation->data, loaded, SourceUse::evaluation, share);
    require_sequence(loaded.job, loaded.model.get(), source->sequence_length());
    D9D_REQUIRE(!source->is_rollouts(),
                "data: the model writes the source's texts between steps of training, of which an evaluation "
                "has none; take another source, or count what you want to see as metrics of the task");
    source->scan_ids({});
    prepared.evaluation_batches = evaluation_batches(loaded.job, source->num_samples());
    prepared.evaluation_end = end_of_data(loaded.job.evaluation->data, source->num_samples());
    prepared.evaluation_source = source;
  });
}

// Makes the pieces that the job names. All but the model, the schedule and the sources of data are made
// only to find what is wrong with their sections, which are read when a piece is made.
void make_pieces(const LoadedJob& loaded, PreparedJob& prepared, Findings& findings) {
  const JobConfig& job = loaded.job;
  const Registry& registry = prepared.registry;
  findings.attempt("model_provider", [&] { prepared.model = make_model(registry, job); });
  findings.attempt("task", [&] {
    if (job.inference) {
      make_inference_task(registry, job, 0);
    } else {
      const auto task = make_task(registry, job);
      prepared.phases = call_user("the task's phases", ErrorInside::passes,
                                  [&] { return StepPhases(task->phases(), task->updates()); });
      require_phases(job, prepared.phases);
    }
  });
  findings.attempt("trainer.pipelining.schedule", [&] {
    prepared.schedule = make_schedule(registry, job);
    if (const auto* own = std::get_if<OwnSchedule>(&prepared.schedule))
      require_own_schedule(*own, loaded, prepared.phases);
  });
  findings.attempt("collation", [&] { prepared.collation = make_collation(registry, job); });
  findings.attempt("gradient_hooks", [&] { make_gradient_hooks(registry, job); });
  findings.attempt("optimizer", [&] { prepared.optimizer = make_optimizer(registry, job); });
  findings.attempt("lr_scheduler", [&] { prepared.lr_schedule = make_lr_schedule(registry, job); });
  make_actors(job, prepared, findings);
  make_trackers(job, prepared, findings);
}

void open_sources(const LoadedJob& loaded, const RunOptions& options, Disk& disk, PreparedJob& prepared,
                  Findings& findings) {
  const auto share = std::make_shared<SharedCorpora>();
  Beginning beginning = options.fresh || options.join ? Beginning{} : next_beginning(disk, loaded.job);
  beginning.is_known = !options.join;
  open_data(loaded, beginning, share, prepared, findings);
  open_evaluation(loaded, share, prepared, findings);
  if (!prepared.source || options.join) return;
  findings.attempt("",
                   [&] { prepared.tokenizer = tokenizer_files_of(disk, loaded.job, loaded.model.get()); });
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

PreparedJob prepare_job(const LoadedJob& loaded, const RunOptions& options, Disk& disk) {
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
  prepared.plan = plan_job(loaded, prepared.schedule);
  return prepared;
}

}  // namespace d9d
