#include "actors/job/folder/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "actors/job/folder/job_export.hpp"
#include "actors/job/folder/job_record.hpp"
#include "actors/job/folder/kept_checkpoints.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/job/job_difference.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/metric/sink/run_record.hpp"
#include "runtime/net/proof.hpp"
#include "runtime/resume/changed_inputs.hpp"
#include "runtime/resume/held_out_rows.hpp"
#include "runtime/resume/other_batch.hpp"
#include "runtime/resume/same_results.hpp"
#include "runtime/resume/schedule_steps.hpp"
#include "runtime/state/checkpoint/checkpoint_survey.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

// Counts tensors, each once, however many slices it has.
std::uint64_t num_tensors(const Manifest& manifest) {
  std::set<std::string> names;
  for (const ManifestEntry& entry : manifest.entries) names.insert(entry.kind + "/" + entry.name);
  return names.size();
}

// What a start finds out and its commits need.
struct StartOfRun {
  KeptCheckpoints kept;
  std::uint64_t first_batch = 0;  // samples of the run's first step
  nlohmann::json inputs{};        // see input_prints()
};

// Notes which keys have changed since the checkpoint. That is allowed, because a job is often prolonged.
// But if the data or its order has changed, the data cursor of the checkpoint counts other samples.
void tell_other_keys(const JobConfig& job, const Manifest& manifest, ResumePoint& point) {
  const auto extra = try_parse_json<config::Json>(manifest.extra);
  const auto keys = extra.is_object() ? extra.find("job") : extra.end();
  if (!extra.is_object() || keys == extra.end()) return;
  const auto differences = differences_since(*keys, job);
  if (differences.empty()) return;
  const bool data = std::any_of(differences.begin(), differences.end(), [](const KeyDifference& difference) {
    const bool same_order = difference.key.ends_with(".epochs") || difference.key.ends_with(".cache");
    return (difference.key.starts_with("data.") && !same_order) ||
           difference.key == "trainer.determinism.base_seed";
  });
  if (const std::string held_out = told_held_out(differences, job, manifest.step); !held_out.empty())
    log::warn("{}", held_out);
  point.differences = told(differences, "now", "then");
  point.warning = fmt::format(
      "{} was written with other keys: {}; going on with it{}", point.directory, point.differences,
      data ? fmt::format(". Its data cursor, sample {}, counts in the order of now", manifest.data_cursor)
           : "");
}

// Warns if the weights of the checkpoint are converted, because the loss curve is then no longer that of
// one dtype.
void tell_other_dtype(const JobConfig& job, const FoundCheckpoint& checkpoint, const Manifest& manifest) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  const auto extra = try_parse_json<nlohmann::json>(manifest.extra);
  const nlohmann::json::json_pointer where("/job/model_provider/dtype");
  if (family == nullptr || job.inference || !extra.is_object() || !extra.contains(where)) return;
  const nlohmann::json& then = extra.at(where);
  if (!then.is_string() || then == std::string(name_of(family->dtype))) return;
  const bool masters = std::any_of(manifest.entries.begin(), manifest.entries.end(),
                                   [](const ManifestEntry& entry) { return entry.kind == "master_weight"; });
  log::warn("{} was written by a {} model and this one is {}: its weights are converted{}", checkpoint.path,
            then.get<std::string>(), name_of(family->dtype),
            masters && family->dtype == Dtype::float32 ? ", from its master weights without loss" : "");
}

// Refuses a checkpoint whose order of the data came from data.seed if the order now comes from base_seed:
// some samples would be read twice and others never. Checkpoints of versions in which data.seed was 0
// unless given are of this kind.
void require_the_same_order(const JobConfig& job, const FoundCheckpoint& checkpoint,
                            const Manifest& manifest) {
  const bool follows_base_seed = std::visit(
      [](const auto& data) {
        if constexpr (requires { data.shuffle; }) return (data.shuffle || data.order.sorted) && !data.seed;
        return false;
      },
      job.data);
  const auto extra = try_parse_json<config::Json>(manifest.extra);
  if (!follows_base_seed || !extra.is_object()) return;
  const auto seed = extra.value(config::Json::json_pointer("/job/data/seed"), config::Json());
  if (!seed.is_number_integer() || seed == job.trainer.determinism.base_seed) return;
  throw Error(
      ErrorKind::input,
      fmt::format(
          "{} was written with data.seed {}, and this job has none, so that base_seed {} would choose "
          "another order of the samples. Set data.seed: {} to go on in the order of the checkpoint, or "
          "start with --fresh to begin at step 1",
          checkpoint.path, json_text(seed), job.trainer.determinism.base_seed, json_text(seed)));
}

// Refuses to begin anew while checkpoints of this run are where earlier versions wrote them: in
// `<save_dir>/save-<step>`, without the name of the run.
void require_no_checkpoints_at_the_old_place(const ProcessServices& process) {
  const auto& save_dir = process.job().trainer.checkpointing.save_dir;
  const std::string directory = checkpoint_dir(process.job()).string();
  if (!save_dir || !find_checkpoints(process.disk, directory).empty()) return;
  const auto found = find_checkpoints(process.disk, *save_dir);
  if (found.empty()) return;
  const std::string& run = process.job().trainer.run.name;
  try {
    const auto extra = parse_json<nlohmann::json>(read_manifest(process.disk, found.front().path).extra);
    if (extra.at("job").at("trainer").at("run").at("name") != run) return;
  } catch (const std::exception&) {
    // It is unknown which run wrote them, so the user decides.
  }
  throw Error(
      ErrorKind::environment,
      fmt::format("{} holds the checkpoints of run {} as earlier versions wrote them (newest: {}). They "
                  "belong into {} now: move them there (mv {}/save-* {}/) and start again, or start "
                  "with --fresh to leave them and begin at step 1",
                  *save_dir, run, found.front().path, directory, *save_dir, directory));
}

CheckpointSearch choose_checkpoint(const ProcessServices& process, const std::string& directory) {
  constexpr const char* remedy =
      "Nothing was changed. Mend that and start again, or start with --fresh to begin at step 1 (the "
      "checkpoints are kept under other names)";
  try {
    const CheckpointSearch search = newest_good_checkpoint(process.disk, directory, Check::contents);
    if (search.checkpoint || search.refused.empty()) return search;
    throw Error(ErrorKind::environment,
                fmt::format("{} in {}, but none can be used; the newest: {}",
                            counted(search.refused.size(), "checkpoint"), directory, search.refused.front()));
  } catch (const Error& error) {
    throw Error(ErrorKind::environment, fmt::format("{}. {}", error.what(), remedy));
  }
}

// Notes the last commit in the run's own folder. Without that a run whose save_dir is not mounted, and
// therefore an empty folder, would begin anew.
void remember(ProcessServices& process, const std::string& checkpoint) {
  const std::string memory = join_path(output_dir(process.job()).string(), last_checkpoint_name);
  try {
    if (!process.job().trainer.checkpointing.save_dir) return process.disk.remove_all(memory);
    write_text(process.disk, memory, std::filesystem::absolute(checkpoint).string() + "\n");
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

// Refuses to begin anew while the run has checkpoints elsewhere: the job has got a save_dir since, or has it no more,
// or has another, or its file system is not mounted.
void require_none_elsewhere(const ProcessServices& process) {
  const std::string run = output_dir(process.job()).string();
  std::string last = remembered_checkpoint(process.disk, run);
  if (last.empty() && process.disk.exists(run)) {
    const auto found = find_checkpoints(process.disk, saves_folder(process.disk, run));
    if (!found.empty()) last = found.front().path;
  }
  if (last.empty()) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("the last checkpoint of this run was {}, and there is none now in {}. Is its file system "
                  "mounted, and save_dir the same as before? Start with --fresh to begin at step 1",
                  last, checkpoint_dir(process.job()).string()));
}

// Compares the files that this start reads with those that the checkpoint's start read, and warns of
// differences. An inference job refuses those that would make other results.
void tell_inputs(const ProcessServices& process, const Manifest& manifest, const nlohmann::json& now,
                 const ResumePoint& point) {
  const JobConfig& job = process.job();
  const auto extra = try_parse_json<nlohmann::json>(manifest.extra);
  const auto part = [&](const char* key) {
    return extra.is_object() ? extra.value(key, nlohmann::json()) : nlohmann::json();
  };
  const nlohmann::json then = part(inputs_key);
  const auto changes = changed_inputs(process.disk, then, now);
  const auto tokenizer = changed_tokenizer(manifest.files, process.prepared.tokenizer);
  if (job.inference && manifest.data_cursor > 0)
    require_same_results(job, part("job"), changes, tokenizer, then.contains("weights"));
  for (const std::string& line : told_changes(changes, tokenizer, job, point.directory, point.next_sample))
    log::warn("{}", line);
}

// Finds the checkpoint to go on from. Only node 0 does so, before any node writes.
ResumePoint find_resume_point(ProcessServices& process, const std::string& job_hash, bool fresh,
                              StartOfRun& start) {
  const std::string directory = checkpoint_dir(process.job()).string();
  if (fresh) {
    put_aside(process.disk, process.job());
  } else {
    require_no_checkpoints_at_the_old_place(process);
  }
  const CheckpointSearch search = choose_checkpoint(process, directory);
  if (!search.checkpoint) require_none_elsewhere(process);
  for (const std::string& name : remove_stale(process.disk, directory))
    log::info("removed the leftover {}", name);
  if (writes_checkpoints(process.job())) start.inputs = input_prints(process.disk, process.job());
  start.first_batch = first_batch_of({}, process.job());
  if (!search.checkpoint) return {};
  const Manifest manifest = read_manifest(process.disk, search.checkpoint->path);
  ResumePoint point{.directory = search.checkpoint->path,
                    .step = manifest.step,
                    .state = manifest.extra,
                    .next_sample = manifest.data_cursor,
                    .entries = num_tensors(manifest)};
  start.first_batch = first_batch_of(manifest.extra, process.job());
  require_the_same_order(process.job(), *search.checkpoint, manifest);
  if (manifest.job_hash != job_hash) tell_other_keys(process.job(), manifest, point);
  tell_inputs(process, manifest, start.inputs, point);
  log::info("resuming from {}", search.checkpoint->path);
  tell_other_dtype(process.job(), *search.checkpoint, manifest);
  const std::string other_batch = told_other_batch(process.job(), process.prepared.num_samples,
                                                   {manifest.step, manifest.data_cursor}, manifest.extra);
  if (!other_batch.empty()) log::info("{}", other_batch);
  if (!search.damaged.empty()) {
    log::warn("that is step {} and not step {}, because of {}, which {} in place", search.checkpoint->step,
              search.damaged.front().step, counted(search.damaged.size(), "newer damaged checkpoint"),
              search.damaged.size() == 1 ? "stays" : "stay");
  }
  std::set<std::uint64_t> damaged;
  for (const FoundCheckpoint& bad : search.damaged) damaged.insert(bad.step);
  start.kept.found(std::move(damaged));
  return point;
}

std::string commit(ProcessServices& process, const std::string& job_hash, const std::string& tag,
                   StartOfRun& start, const CheckpointParts& parts) {
  const std::string directory = checkpoint_dir(process.job()).string();
  nlohmann::json extra{{"job", nlohmann::json(resolved_keys(process.job()))},
                       {"ranks", nlohmann::json::object()},
                       {first_batch_key, start.first_batch},
                       {inputs_key, start.inputs}};
  for (const auto& [rank, state] : parts.rank_states)
    extra["ranks"][std::to_string(rank)] = parse_json<nlohmann::json>(state);
  std::vector<ShardReport> reports;
  for (const std::string& report : parts.reports) reports.push_back(shard_report_from_json(report));
  const std::string temporary = join_path(directory, temporary_name(parts.step, tag));
  process.disk.make_directories(temporary);  // an inference job writes no shard into it
  // With the model's tokenizer, so that the checkpoint alone can become an export.
  const Manifest manifest =
      with_reports({.step = parts.step,
                    .data_cursor = parts.next_sample,
                    .seed = static_cast<std::uint64_t>(process.job().trainer.determinism.base_seed),
                    .epoch = process.world.epoch.load(),
                    .job_hash = job_hash,
                    .extra = shown_json(extra),
                    .files = write_tokenizer_files(process.disk, temporary, process.prepared.tokenizer)},
                   reports);
  const std::string final_dir = join_path(directory, checkpoint_name(parts.step));
  commit_checkpoint(process.disk, temporary, final_dir, manifest);
  remember(process, final_dir);
  start.kept.committed(parts.step, manifest.extra);
  return final_dir;
}

// The manifest is replaced as a whole, so a start reads the old one or the new one.
void amend(ProcessServices& process, StartOfRun& start, std::uint64_t step, const std::string& patch) {
  const std::string directory = join_path(checkpoint_dir(process.job()).string(), checkpoint_name(step));
  Manifest manifest = read_manifest(process.disk, directory);
  nlohmann::json extra = parse_json<nlohmann::json>(manifest.extra);
  extra.at("ranks").at("0").merge_patch(parse_json<nlohmann::json>(patch));
  manifest.extra = shown_json(extra);
  write_text(process.disk, join_path(directory, manifest_name), to_json(manifest));
  process.disk.sync_directory(directory);
  start.kept.committed(step, manifest.extra);
}

}  // namespace

CoordinatorOptions coordinator_options(ProcessServices& process, const NodeOptions& node,
                                       const std::string& tag, bool fresh) {
  const JobConfig& job = process.job();
  const auto start = std::make_shared<StartOfRun>(StartOfRun{.kept = {process.disk, job}});
  CoordinatorOptions options{
      .world_size = job.mesh.world_size(),
      .build = node.build,
      .job_hash = node.job_hash,
      .tag = tag,
      .secret = net::random_text(),
      .join_timeout = node.join_timeout,
      .find_resume_point = [&process, hash = node.job_hash, fresh,
                            start] { return find_resume_point(process, hash, fresh, *start); },
      .commit = [&process, hash = node.job_hash, tag,
                 start](const CheckpointParts& parts) { return commit(process, hash, tag, *start, parts); },
      .amend = [&process, start](std::uint64_t step,
                                 const std::string& patch) { amend(process, *start, step, patch); },
      .discard =
          [&process, tag](std::uint64_t step) {
            process.disk.remove_all(temporary_checkpoint_dir(process.job(), tag, step));
          },
      .events = job.inference ? "inference" : "train",
      .own_actors = job.actors.size(),
      .trace = job.node.trace,
      .job_keys = node.job_keys,
      .inputs = node.inputs};
  add_export(options, process, tag);
  if (job.trainer.checkpointing.num_to_keep) options.make_room = [start] { start->kept.make_room(); };
  options.choose_export = [start](const std::string& last) { return start->kept.to_export(last); };
  add_record(options, {.file = output_dir(job) / run_record_name,
                       .build = node.build,
                       .job = resolved_keys(job),
                       .clock = process.world.clock,
                       .watch = *process.disk_watch});
  return options;
}

}  // namespace d9d
