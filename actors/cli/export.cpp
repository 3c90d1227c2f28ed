// d9d-node export: makes a Hugging Face folder of a committed checkpoint, without a run.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "actors/cli/job_options.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/work_options.hpp"
#include "actors/job/process/work_progress.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/provider/export_checkpoint.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/resume/changed_inputs.hpp"
#include "runtime/resume/own_folders.hpp"
#include "runtime/state/checkpoint/best_checkpoint.hpp"
#include "runtime/state/checkpoint/checkpoint_survey.hpp"

namespace d9d {
namespace {

// Reads the job file that the checkpoint keeps.
LoadedJob job_of(const Disk& disk, const std::string& checkpoint, const Arguments& arguments) {
  const auto overrides = arguments.values("--set");
  if (const auto file = arguments.value("--job")) return load_job(std::filesystem::path(*file), overrides);
  const auto state = parse_json<nlohmann::json>(read_manifest(disk, checkpoint).extra);
  D9D_REQUIRE(state.contains("job"),
              "{} does not say which job wrote it; give the job file with --job JOB.yaml", checkpoint);
  return load_job(config::parse(json_text(state.at("job")), join_path(checkpoint, manifest_name)), overrides);
}

std::string checkpoint_given(const Disk& disk, const Arguments& arguments) {
  const std::string& directory = arguments.positional()[0];
  D9D_REQUIRE(disk.exists(directory),
              "{} is not there; give a checkpoint, for example runs/NAME/checkpoints/save-100", directory);
  const std::string folder = saves_folder(disk, directory);
  if (!arguments.has("--best")) return checkpoint_in(disk, folder, Check::contents);
  const auto best = best_of(evaluation_values(disk, folder));
  D9D_REQUIRE(best,
              "--best: no checkpoint in {} was written right after an evaluation; name one, or leave it out",
              folder);
  const FoundCheckpoint found{*best, join_path(folder, checkpoint_name(*best))};
  if (const auto damage = damage_of(disk, found, Check::contents))
    throw Error(
        ErrorKind::environment,
        fmt::format("checkpoint {} is the best and damaged: {}. Name another one", found.path, *damage));
  return found.path;
}

std::set<std::string> checkpoints_at(const Disk& disk, const std::string& directory) {
  std::set<std::string> paths;
  if (!disk.exists(directory)) return paths;
  for (const FoundCheckpoint& found : find_checkpoints(disk, saves_folder(disk, directory)))
    paths.insert(found.path);
  return paths;
}

// A run that still trains removes its older checkpoints, perhaps the one that is being read. Then `work` begins anew
// with one that is there.
void while_checkpoints_go(const Disk& disk, const std::string& directory, const std::function<void()>& work) {
  constexpr int tries_max = 10;
  for (int tries = 1;; ++tries) {
    const std::set<std::string> before = checkpoints_at(disk, directory);
    try {
      return work();
    } catch (const Error& error) {
      const auto is_gone = [&](const std::string& path) { return !disk.exists(path); };
      if (tries == tries_max || std::ranges::none_of(before, is_gone)) throw;
      log::info("{}: a checkpoint was removed while it was read, so the command begins anew", directory);
    }
  }
}

void export_one(PosixDisk& disk, const Arguments& arguments, Console& console) {
  const std::string checkpoint = checkpoint_given(disk, arguments);
  const std::string& target = arguments.positional()[1];
  const LoadedJob loaded = job_of(disk, checkpoint, arguments);
  Registry registry = builtin_registry(loaded, disk);
  for (const std::string& plugin : loaded.job.plugins) load_plugin(plugin, registry);
  const auto model = make_model(registry, loaded.job);
  require_own_folder("OUT_DIR", target, loaded.job);
  require_outside("OUT_DIR", target, checkpoint);
  if (arguments.has("--adapter")) {
    export_adapter(disk, *model, checkpoint, target);
  } else {
    require_same_frozen_weights(disk, loaded.job, checkpoint);
    const SystemClock clock;
    WorkProgress bar(console.err, is_on_terminal(), clock);
    export_checkpoint(
        disk, *model, checkpoint, target,
        {.threads = threads_given(arguments),
         .shard_bytes_max = shard_size_given(arguments),
         .progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); }});
  }
  console.out << "exported " << checkpoint << " to " << target << "\n";
}

int export_folder(const Arguments& arguments, Console& console) {
  PosixDisk disk;
  while_checkpoints_go(disk, arguments.positional()[0], [&] { export_one(disk, arguments, console); });
  return 0;
}

}  // namespace

Command export_command() {
  return {
      .name = "export",
      .positional = "CHECKPOINT OUT_DIR",
      .summary = "a committed checkpoint as a Hugging Face folder",
      .positional_min = 2,
      .positional_max = 2,
      .options = {{"--job", "JOB.yaml", "the job that wrote it; left out: as the checkpoint remembers it"},
                  {"--best", "", "of several, the one with the lowest loss of an evaluation"},
                  {"--adapter", "", "what fine-tuning added alone, in PEFT's format"},
                  shard_size_option(),
                  threads_option(),
                  set_option()},
      .run = export_folder,
      .details =
          "CHECKPOINT is a folder save-STEP, or the folder of a run or of its checkpoints: then the newest "
          "good one is taken, or with --best the best. Files of another model in OUT_DIR are replaced, other "
          "files stay.\n",
      .examples = {"export runs/quickstart/checkpoints model",
                   "export runs/tuned/checkpoints/save-500 adapter --adapter"}};
}

}  // namespace d9d
