#include "runtime/state/checkpoint/checkpoint_survey.hpp"

#include <fmt/chrono.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/checkpoint/best_checkpoint.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk_error.hpp"

namespace d9d {
namespace {

constexpr const char* folder_of_saves = "checkpoints";
constexpr std::uint64_t remembered_bytes_max = 65536;

void add_sizes(const Disk& disk, SaveSummary& save) {
  for (const auto& entry : disk.list(save.path)) {
    save.bytes += entry.size;
    if (!entry.is_directory) ++save.num_files;
  }
}

SaveSummary summary_of(const Disk& disk, const FoundCheckpoint& found) {
  SaveSummary save;
  save.name = checkpoint_name(found.step);
  save.path = found.path;
  save.step = found.step;
  try {
    add_sizes(disk, save);
    if (const auto damage = damage_of(disk, found, Check::sizes)) save.problem = *damage;
  } catch (const DiskError& error) {
    save.problem = error.what();
  }
  if (!save.problem.empty()) save.state = SaveState::damaged;
  return save;
}

// Sets their losses; what they are compared by.
EvaluationValues read_evaluations(const Disk& disk, std::vector<SaveSummary>& saves) {
  EvaluationValues values;
  for (SaveSummary& save : saves) {
    if (save.state != SaveState::complete) continue;
    try {
      const std::string extra = read_manifest(disk, save.path).extra;
      save.evaluation_loss = evaluation_loss(extra);
      if (const auto value = evaluation_value(extra)) values[save.step] = *value;
    } catch (const Error&) {
      continue;  // removed meanwhile by the job that runs
    }
  }
  return values;
}

// Of "save-12.tmp-<tag>", as temporary_name() makes it.
std::optional<std::uint64_t> step_of_unfinished(const std::string& name) {
  const std::string begin = checkpoint_name(0);  // "save-0"
  const auto digits = begin.size() - 1;
  std::uint64_t step = 0;
  if (name.size() <= digits) return {};
  std::from_chars(name.data() + digits, name.data() + name.size(), step);
  return name.starts_with(temporary_name(step, "")) ? std::optional(step) : std::nullopt;
}

std::vector<SaveSummary> unfinished_saves(const Disk& disk, const std::string& directory) {
  std::vector<SaveSummary> saves;
  for (const auto& entry : disk.list(directory)) {
    const auto step = step_of_unfinished(entry.name);
    if (!step || !entry.is_directory) continue;
    saves.push_back({.name = entry.name,
                     .path = join_path(directory, entry.name),
                     .state = SaveState::unfinished,
                     .problem = {},
                     .step = *step});
    try {
      add_sizes(disk, saves.back());
    } catch (const DiskError&) {  // a running job has committed or removed it meanwhile
      saves.pop_back();
    }
  }
  return saves;
}

}  // namespace

std::string_view name_of(SaveState state) {
  constexpr std::string_view names[] = {"complete", "damaged", "unfinished"};
  return names[static_cast<int>(state)];
}

std::string written_at(const SaveSummary& save) {
  struct stat info {};
  const std::string manifest = join_path(save.path, manifest_name);
  if (::stat(manifest.c_str(), &info) != 0 && ::stat(save.path.c_str(), &info) != 0) return "?";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(info.st_mtime));
}

std::string remembered_checkpoint(const Disk& disk, const std::string& run_folder) {
  const std::string file = join_path(run_folder, last_checkpoint_name);
  if (!disk.exists(file)) return {};
  const std::string text = read_text(disk, file, remembered_bytes_max);
  return text.substr(0, text.find('\n'));
}

std::string saves_folder(const Disk& disk, const std::string& directory) {
  D9D_REQUIRE(disk.exists(directory), "{} is not there; give the folder of a run, for example runs/NAME",
              directory);
  if (!find_checkpoints(disk, directory).empty()) return directory;
  const std::filesystem::path last = remembered_checkpoint(disk, directory);
  if (!last.empty()) return last.parent_path().string();
  const std::string below = join_path(directory, folder_of_saves);
  return disk.exists(below) ? below : directory;
}

std::vector<SaveSummary> survey_checkpoints(const Disk& disk, const std::string& directory) {
  std::vector<SaveSummary> saves;
  for (const auto& found : find_checkpoints(disk, directory)) saves.push_back(summary_of(disk, found));
  const auto best = best_of(read_evaluations(disk, saves));
  for (SaveSummary& save : saves) save.is_best = best == save.step;
  for (auto& save : unfinished_saves(disk, directory)) saves.push_back(std::move(save));
  std::stable_sort(saves.begin(), saves.end(),
                   [](const SaveSummary& a, const SaveSummary& b) { return a.step > b.step; });
  return saves;
}

std::string checkpoint_in(const Disk& disk, const std::string& directory, Check check) {
  D9D_REQUIRE(disk.exists(directory),
              "{} is not there; give a checkpoint, for example runs/NAME/checkpoints/save-100", directory);
  if (disk.exists(join_path(directory, manifest_name))) return directory;
  const CheckpointSearch search = newest_good_checkpoint(disk, directory, check);
  if (!search.checkpoint && !search.refused.empty()) {
    throw Error(ErrorKind::environment,
                fmt::format("{} in {}, but none can be used; the newest: {}",
                            counted(search.refused.size(), "checkpoint"), directory, search.refused.front()));
  }
  D9D_REQUIRE(search.checkpoint.has_value(),
              "{} holds no checkpoint that was committed; give a folder save-STEP, or the folder with such",
              directory);
  return search.checkpoint->path;
}

}  // namespace d9d
