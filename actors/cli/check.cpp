// d9d-node check: prints everything that can be said about a job without running it, and refuses all
// that `run` would refuse.
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "actors/cli/device.hpp"
#include "actors/cli/job_options.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/view/summary.hpp"
#include "actors/job/process/node_devices.hpp"
#include "actors/job/run/preparation.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/rollout_stream.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_length.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/reading/reference_section.hpp"
#include "runtime/job/sample_length.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/process_place.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/train/lr/phase_texts.hpp"

namespace d9d {
namespace {

struct Look {
  std::optional<std::int64_t> sequence_length;
  std::optional<std::uint64_t> samples;  // of an epoch
  std::uint64_t left_out = 0;            // at the end of the job
  ScheduleConfig schedule;
  std::optional<JobPlan> plan;
  StepPhases phases;
  std::optional<Error> refusal;
  std::vector<ProcessPlace> places{ProcessPlace{}};  // of this command's processes
  bool cannot_share = false;                         // its ranks among them
  std::optional<WrittenTexts> texts;                 // of rollouts
  std::vector<ActorTexts> actor_texts;
  bool knows_prompts = false;  // their options say how long they are
};

std::string short_count(double number) {
  if (number >= 1e9) return fmt::format("{:.3g} G", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.3g} M", number / 1e6);
  return number >= 1e4 ? fmt::format("{:.3g} k", number / 1e3) : fmt::format("{:.0f}", number);
}

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20));
}

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<10}{}\n", name, text);
}

std::string name_in(const config::Json& section) {
  return section.value("name", std::string());
}

std::string model_lines(const LoadedJob& loaded, const JobSummary& summary) {
  const std::string name = name_in(config::encode(loaded.job.model_provider));
  if (!loaded.model) return line("model", name + " (a plugin's)");
  std::string layers = counted(loaded.model->num_hidden_layers, "layer");
  if (loaded.model->prediction_depths > 0)
    layers +=
        fmt::format(" and {} of multi-token prediction", counted(loaded.model->prediction_depths, "module"));
  std::string text = fmt::format("{}, {}, {} parameters", name, layers,
                                 short_count(static_cast<double>(summary.parameters)));
  if (summary.active_parameters != summary.parameters) {
    text += fmt::format(" ({} used by a token)", short_count(static_cast<double>(summary.active_parameters)));
  }
  return line("model", text + ", " + loaded.model->dtype);
}

std::string batch_text(const JobConfig& job, const JobSummary& summary) {
  const BatchingConfig& batching = job.trainer.batching;
  std::string text = fmt::format("{} a step = {} x {} x {}", counted(batching.global_batch_size, "sample"),
                                 counted(job.mesh.data_parallel(), "replica"),
                                 counted(summary.plan.microbatches, "microbatch"),
                                 counted(batching.microbatch_size, "sample"));
  if (summary.sequence_length) {
    text += fmt::format("; {} a sample, {} a step", counted(*summary.sequence_length, "token"),
                        *summary.sequence_length * batching.global_batch_size);
  }
  return text;
}

std::string optimizer_text(const JobConfig& job) {
  if (job.inference) return "none: the job infers";
  const std::string name = name_in(config::encode(job.optimizer));
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  const auto known = known_optimizer(job.optimizer);
  if (!family || !known || !keeps_masters(*known, family->dtype)) return name;
  return fmt::format("{}, with float32 master weights of the {} parameters", name, name_of(family->dtype));
}

// Describes the curve of the section `lr_scheduler`; of a plugin's schedule only the name.
std::string lr_line(const JobConfig& job) {
  if (job.inference || !job.lr_scheduler) return {};
  const std::string name = name_in(config::encode(*job.lr_scheduler));
  const bool is_long =
      !job.trainer.schedule.total_steps && !std::holds_alternative<config::Named>(*job.lr_scheduler);
  const auto lr = is_long ? std::nullopt : build_lr(job);
  return line("lr", lr ? fmt::format("{}: {}", name, text_of(*lr)) : name);
}

// The type in which gradients are summed, if it differs from that of the parameters.
std::string gradient_line(const JobConfig& job) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (job.inference || !family || dtype_of_gradients(job) == family->dtype) return {};
  return line("gradients", fmt::format("summed in {}, of {} parameters", name_of(dtype_of_gradients(job)),
                                       name_of(family->dtype)));
}

// A line for each group of parameters with settings of its own.
std::string decay_lines(const JobSummary& summary) {
  std::string text;
  for (const OptimizerGroup& group : summary.groups) {
    std::string what =
        fmt::format("{} on {}, {} parameters", group.settings.weight_decay, counted(group.tensors, "tensor"),
                    short_count(static_cast<double>(group.elements)));
    if (group.settings.lr_multiplier != 1) {
      what += fmt::format(", learning rate x {}", group.settings.lr_multiplier);
    }
    if (group.settings.betas) {
      what += fmt::format(", betas {} and {}", group.settings.betas->front(), group.settings.betas->back());
    }
    if (!group.by.empty()) what += ", by " + group.by;
    const bool more = group.tensors > static_cast<std::int64_t>(group.examples.size());
    text += line(text.empty() ? "decay" : "",
                 fmt::format("{}: {}{}", what, fmt::join(group.examples, ", "), more ? ", ..." : ""));
  }
  return text;
}

std::string data_text(const JobConfig& job, const Look& found) {
  std::string text = config::encode(job.data)["source"].get<std::string>();
  if (!found.samples) return text;
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  text += fmt::format(", {}, {} an epoch", counted(*found.samples, "sample"),
                      counted(steps_of(*found.samples, batch, !job.trainer.batching.drop_last), "step"));
  if (found.left_out == 0) return text;
  return text +
         fmt::format("; leaves out {} at the end, too few for a step", counted(found.left_out, "sample"));
}

// Empty where a step has one update.
std::string update_text(const StepPhases& phases, int update) {
  if (phases.num_updates() == 1) return {};
  const auto& moved = phases.updates()[static_cast<std::size_t>(update)].parameters;
  return fmt::format(", for update {} of {} of {}", update + 1, phases.num_updates(),
                     moved.empty() ? "all parameters" : fmt::format("{}", fmt::join(moved, ", ")));
}

// The phases of a step, if the task makes more than one pass over one batch.
std::string phase_lines(const StepPhases& phases) {
  std::string text;
  for (int i = 0; i < phases.size() && !phases.is_plain(); ++i) {
    const StepPhase& phase = phases[i];
    const char* kind = phase.kind == PhaseKind::train ? "forward, loss and backward" : "forward alone";
    text += line(i == 0 ? "step" : "",
                 fmt::format("{}: {} over batch {} of {}{}", phase.name, kind, phase.batch + 1,
                             phases.num_batches(), update_text(phases, phase.update)));
  }
  return text;
}

std::string head(const LoadedJob& loaded, const JobSummary& summary, const Look& found) {
  const JobConfig& job = loaded.job;
  const auto& steps = job.trainer.schedule.total_steps;
  const auto& source = job.trainer.model_stage_factory.source_checkpoint;
  return line("run", fmt::format("{}, {}", job.trainer.run.name,
                                 steps ? counted(*steps, "step") : "as long as the data lasts")) +
         model_lines(loaded, summary) +
         line("weights", source ? "from " + *source
                                : fmt::format("drawn from seed {}", job.trainer.determinism.base_seed)) +
         line("data", data_text(job, found)) + line("batch", batch_text(job, summary)) +
         phase_lines(found.phases) +
         line("schedule",
              fmt::format("{}, simulated bubble {:.1f} %", summary.schedule, 100 * summary.forecast.bubble)) +
         line("optimizer", optimizer_text(job)) + lr_line(job) + decay_lines(summary) + gradient_line(job) +
         line("output", output_dir(job).string());
}

// The texts that the job's own actors ask for.
std::string lines_of_actors(const Look& found) {
  std::string text;
  std::vector<std::string> unknown;
  for (const ActorTexts& asked : found.actor_texts) {
    if (asked.prompts == 0) {
      unknown.push_back(asked.actor);
      continue;
    }
    text += fmt::format("{} of the actor {} after a step, for prompts of {} and {} new tokens each at most\n",
                        counted(asked.prompts, "text"), asked.actor, counted(asked.prompt_tokens, "token"),
                        asked.new_tokens);
  }
  if (unknown.empty()) return text;
  return text + fmt::format(
                    "not counted: texts for which actors set their prompts while the job runs, if any ({})\n",
                    fmt::join(unknown, ", "));
}

// What the columns of loss, of texts and of the second stream count.
std::string further_columns(const Look& found, bool loss, bool texts, bool streams) {
  std::string text;
  if (loss)
    text +=
        "loss: what the rank of the last stage works with beside activations, in the loss of a microbatch "
        "or in a layer\n";
  if (texts)
    text +=
        "texts: keys and values of those that the model writes, and what it works with then; no activations "
        "are kept meanwhile, so the total has the larger one of both\n";
  if (found.texts) {
    text += fmt::format("{} between steps, {} and {} new tokens each at most\n",
                        counted(found.texts->texts, "text"), counted(found.texts->prompt_tokens, "token"),
                        found.texts->new_tokens);
    if (!found.knows_prompts)
      text +=
          "not counted: prompts that are longer than a sample; the source's options do not say how long they "
          "are (RolloutOptions::prompt_tokens_max)\n";
  }
  text += lines_of_actors(found);
  if (streams)
    text +=
        "streams: what each of two compute streams keeps for itself and the other cannot use, at most "
        "(trainer.pipelining.overlap: always)\n";
  return text;
}

std::string memory_table(const JobSummary& summary, const Look& found) {
  const auto any = [&](std::int64_t RankMemory::*bytes) {
    return std::any_of(summary.ranks.begin(), summary.ranks.end(),
                       [bytes](const RankMemory& rank) { return rank.*bytes > 0; });
  };
  const bool loss = any(&RankMemory::loss), texts = any(&RankMemory::texts),
             streams = any(&RankMemory::second_stream);
  std::string text = fmt::format(
      "\nestimated memory of a rank, MiB\npp rank  parameters  gradients  optimizer  checkpoint  activations"
      "{}{}{}  total\n",
      loss ? "      loss" : "", texts ? "     texts" : "", streams ? "   streams" : "");
  for (const RankMemory& rank : summary.ranks) {
    text +=
        fmt::format("{:>7}  {:>10}  {:>9}  {:>9}  {:>10}  {:>11}", rank.pipeline_rank, mib(rank.parameters),
                    mib(rank.gradients), mib(rank.optimizer), mib(rank.checkpoint), mib(rank.activations));
    if (loss) text += fmt::format("  {:>8}", mib(rank.loss));
    if (texts) text += fmt::format("  {:>8}", mib(rank.texts));
    if (streams) text += fmt::format("  {:>8}", mib(rank.second_stream));
    text += fmt::format("  {:>5}\n", mib(rank.total()));
  }
  return text + "activations: what " + std::to_string(summary.ranks.front().live_microbatches) +
         " microbatches keep at the peak of pp rank 0\n" +
         (summary.ranks.front().checkpoint == 0 ? ""
                                                : "checkpoint: the copy of parameters and optimizer that is "
                                                  "held while it is written, by one of the replicas\n") +
         further_columns(found, loss, texts, streams);
}

std::string tables(const JobSummary& summary, const Look& found) {
  if (summary.ranks.empty()) return {};
  std::string text = "\nstage  pp rank  layers      parameters\n";
  for (const StagePlan& stage : summary.plan.stages) {
    const std::string layers = fmt::format("{}..{}", stage.layers.begin, stage.layers.end - 1);
    text += fmt::format("{:>5}  {:>7}  {:<10}  {:>10}\n", stage.stage, stage.pipeline_rank, layers,
                        short_count(static_cast<double>(stage.parameters)));
  }
  return text + memory_table(summary, found);
}

// Which processes the command would start, or why it cannot.
std::optional<RunOptions> look_at_place(const LoadedJob& loaded, const Arguments& arguments, Console& console,
                                        Look& found) {
  try {
    const RunOptions options =
        with_environment({.join = arguments.value("--join"), .listen = arguments.value("--listen")},
                         loaded.job, environment_variables());
    require_protected_collectives(loaded.job, ranks_of_process(loaded.job, options), options);
    for (const std::string& note : options.notes) console.err << "warning: " << note << "\n";
    found.places = places_of_command(loaded.job, options, 1);
    const bool is_cuda = loaded.job.node.device == DeviceKind::cuda;
    const int here =
        devices_here(loaded.job, found.places.front().ranks, is_cuda ? find_cuda_driver() : std::nullopt);
    found.places = places_of_command(loaded.job, options, processes_of(loaded.job, options, here));
    return options;
  } catch (const Error& error) {
    found.refusal = error;
    found.cannot_share = true;
    return std::nullopt;
  }
}

// How much the model writes between steps.
void look_at_texts(const JobConfig& job, const SampleSource& source, Look& found) {
  const RolloutOptions options = source.open_rollouts()->options();
  found.knows_prompts = options.prompt_tokens_max > 0;
  found.texts =
      texts_of_rollouts(job, *found.plan, found.phases.num_batches(), options, source.sequence_length());
}

// Makes the job's pieces and notes what they say of the job, or why they cannot be made.
Look look_into(const LoadedJob& loaded, const Arguments& arguments, Console& console) {
  Look found{.sequence_length = given_length(loaded.job.data),
             .schedule = loaded.job.trainer.pipelining.schedule};
  const auto options = look_at_place(loaded, arguments, console, found);
  if (!options) return found;
  PosixDisk disk;
  try {
    const PreparedJob prepared = prepare_job(loaded, *options, disk);
    for (const std::string& warning : prepared.warnings) console.err << "warning: " << warning << "\n";
    found.sequence_length = prepared.source->sequence_length();
    found.samples = prepared.source->num_samples();
    found.left_out = prepared.left_out;
    found.schedule = prepared.schedule;
    found.plan = prepared.plan;
    found.phases = prepared.phases;
    if (!loaded.job.inference) found.actor_texts = prepared.actor_texts;
    if (prepared.source->is_rollouts() && found.plan) look_at_texts(loaded.job, *prepared.source, found);
  } catch (const Error& error) {
    found.refusal = error;
  }
  return found;
}

std::vector<WrittenTexts> all_texts(const Look& found) {
  std::vector<WrittenTexts> all;
  if (found.texts) all.push_back(*found.texts);
  for (const ActorTexts& asked : found.actor_texts) {
    if (asked.prompts > 0)
      all.push_back(texts_of_prompts(*found.plan, asked.prompts, asked.prompt_tokens, asked.new_tokens));
  }
  return all;
}

// Makes the checks that `run` makes first of all.
DeviceSummary look_at_device(const LoadedJob& loaded, const JobSummary& summary, Look& found) {
  if (loaded.job.node.device == DeviceKind::cpu) return {};
  const bool is_cuda = loaded.job.node.device == DeviceKind::cuda;
  DeviceSummary device{is_cuda ? find_cuda_driver() : std::nullopt, summary.ranks};
  if (found.cannot_share) return device;
  try {
    for (const ProcessPlace& place : found.places) require_device(loaded.job, place, device);
  } catch (const Error& error) {
    found.refusal = error;
  }
  return device;
}

// One line for each process, if the command starts several.
std::string process_lines(const JobConfig& job, const DeviceSummary& device, const Look& found) {
  std::string text;
  if (found.places.size() == 1) return text;
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    std::string has = found.places[i].text();
    try {
      has = process_text(job, found.places[i], device);
    } catch (const Error&) {  // look_at_device() has found it already
    }
    text += line(i == 0 ? "processes" : "", fmt::format("worker {} of {}: {}", i, found.places.size(), has));
  }
  return text;
}

void print(const LoadedJob& loaded, const JobSummary& summary, const DeviceSummary& device, const Look& found,
           Console& console) {
  const auto nodes = static_cast<std::size_t>(summary.num_nodes) * found.places.size();
  const Plan plan(loaded.job.mesh, std::vector<int>(nodes, summary.world_size / static_cast<int>(nodes)));
  console.out << head(loaded, summary, found) << process_lines(loaded.job, device, found)
              << device_text(loaded.job, found.places, device) << tables(summary, found) << "\n"
              << plan.text(!loaded.model || loaded.model->experts_per_layer() > 0);
}

config::Json processes_json(const std::vector<ProcessPlace>& places) {
  config::Json out = config::Json::array();
  for (const ProcessPlace& place : places) {
    out.push_back({{"ranks", place.ranks}, {"first_rank", nullptr}});
    if (place.first_rank) out.back()["first_rank"] = *place.first_rank;
  }
  return out;
}

int check(const Arguments& arguments, Console& console) {
  if (arguments.has("--reference")) {
    const auto& section = arguments.positional();
    console.out << (section.empty() ? job_reference()
                                    : reference_section(whole_job_reference(), section.front()));
    return 0;
  }
  D9D_REQUIRE(!arguments.positional().empty(), "check: JOB.yaml is missing; see `check --help`");
  const LoadedJob loaded = load_job(arguments, console);
  Look found = look_into(loaded, arguments, console);
  // A plugin's schedule that cannot be made has no plan to show.
  if (const auto* own = std::get_if<OwnSchedule>(&found.schedule); own && !own->made)
    throw found.refusal.value();
  const JobSummary summary =
      summarize(loaded, found.schedule, found.plan ? *found.plan : plan_job(loaded, found.schedule),
                found.sequence_length, all_texts(found));
  const DeviceSummary device = look_at_device(loaded, summary, found);
  if (arguments.has("--json")) {
    config::Json out = to_json(summary);
    if (loaded.job.node.device == DeviceKind::cuda) out["device"] = to_json(device);
    out["processes"] = processes_json(found.places);
    out["job"] = resolved_keys(loaded.job);
    console.out << json_text(out, 2) << "\n";
  } else {
    print(loaded, summary, device, found, console);
  }
  console.out.flush();
  // The plan is useful even when the job is refused, so the refusal comes after it.
  if (found.refusal) throw *found.refusal;
  return 0;
}

}  // namespace

Command check_command() {
  return {"check",
          "[JOB.yaml|SECTION]",
          "find what `run` would refuse, and print what the job would do; writes nothing",
          0,
          1,
          {set_option(),
           ranks_option(),
           {"--listen", "HOST:PORT", "as for `run`: can this host listen there?"},
           {"--join", "HOST:PORT", "as for `run`: check a process that is not node 0, without connecting"},
           {"--json", "", "print JSON: the summary, and all keys with their values"},
           {"--reference", "",
            "print the reference of all keys (Markdown), or of the section or key named: `check --reference "
            "data`"}},
          check,
          {},
          {"check job.yaml", "check job.yaml --set mesh.pipeline_parallel=4 --json", "check --reference",
           "check --reference lr_scheduler"}};
}

}  // namespace d9d
