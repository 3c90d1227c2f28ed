#include "actors/job/folder/run_folders.hpp"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/metric/sink/run_record.hpp"
#include "runtime/state/checkpoint/best_checkpoint.hpp"
#include "runtime/state/checkpoint/checkpoint_survey.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/disk/folder_access.hpp"
#include "runtime/state/disk/folder_probe.hpp"

namespace d9d {
namespace {

// A network file system may show a new file late.
constexpr int looks_max = 8;
constexpr std::chrono::milliseconds between_looks{250};

constexpr const char* sleep_prefix = "asleep-rank-";
constexpr const char* sleep_folder = "asleep";  // of earlier versions

std::string key_of_checkpoints(const JobConfig& job) {
  return job.trainer.checkpointing.save_dir ? "trainer.checkpointing.save_dir" : "output_dir";
}

// Returns why this is not the folder that node 0 has locked; empty if it is.
std::string difference(const std::string& folder, const std::string& tag) {
  const auto holder = holder_of(folder);
  if (!holder) return fmt::format("node 0's {} is not in it", lock_name);
  return holder->tag == tag ? "" : "it is another job's";
}

}  // namespace

std::string temporary_checkpoint_dir(const JobConfig& job, const std::string& tag, std::uint64_t step) {
  return join_path(checkpoint_dir(job).string(), temporary_name(step, tag));
}

std::string sleep_file(const JobConfig& job, int rank) {
  return (output_dir(job) / fmt::format("{}{:05}", sleep_prefix, rank)).string();
}

void remove_sleep_files(Disk& disk, const JobConfig& job) {
  const std::string folder = output_dir(job).string();
  if (!disk.exists(folder)) return;
  for (const DirectoryEntry& entry : disk.list(folder)) {
    const bool is_left =
        entry.name.starts_with(sleep_prefix) || (entry.is_directory && entry.name == sleep_folder);
    if (is_left) remove_quietly(disk, join_path(folder, entry.name));
  }
}

RunFolders::RunFolders(Disk& disk, const JobConfig& job, const std::string& tag, DiskWatch& watch,
                       HeldFolders& held)
    : RunFolders(held) {  // so that a throw from here on gives back what was taken
  const LockHolder holder = LockHolder::this_process(job.trainer.run.name, tag);
  const std::string output = output_dir(job).string();
  prove(disk, output, "output_dir");
  hold(output, holder, watch);
  if (writes_checkpoints(job)) {
    const std::string checkpoints = checkpoint_dir(job).string();
    prove(disk, checkpoints, key_of_checkpoints(job));
    hold(checkpoints, holder, watch);
  }
  if (job.node.trace) prove(disk, traces_dir(job).string(), "trainer.profiling.traces_dir");
  if (job.export_to) require_creatable(disk, *job.export_to, "export_to");
  if (job.export_adapter_to) require_creatable(disk, *job.export_adapter_to, "export_adapter_to");
}

RunFolders::~RunFolders() {
  held_.release_all();
  locks_.clear();
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

void RunFolders::prove(Disk& disk, const std::string& folder, const std::string& key) {
  if (!disk.exists(folder)) made_.push_back(folder);
  require_writable(disk, folder, key);
}

void look_at_folders(const JobConfig& job) {
  const auto look = [](const std::string& folder, const std::string& key) {
    require_may_write(folder, key);
    require_not_in_use(folder);
  };
  look(output_dir(job).string(), "output_dir");
  if (writes_checkpoints(job)) look(checkpoint_dir(job).string(), key_of_checkpoints(job));
  if (job.node.trace) require_may_write(traces_dir(job).string(), "trainer.profiling.traces_dir");
  if (job.export_to) require_may_write(*job.export_to, "export_to");
  if (job.export_adapter_to) require_may_write(*job.export_adapter_to, "export_adapter_to");
}

// Locks a folder once, because two keys may name the same one.
void RunFolders::hold(const std::string& folder, const LockHolder& holder, DiskWatch& watch) {
  const auto held = locks_.empty() ? std::nullopt : holder_of(folder);
  if (held && held->tag == holder.tag) return;
  locks_.emplace_back(folder, holder, LockTimes{}, &watch,
                      [this](const std::string& report) { held_.lost(report); });
  held_.hold(folder, holder.tag);
}

void require_shared_folders(Disk& disk, const JobConfig& job, const std::string& tag, int node,
                            HeldFolders& held) {
  if (!writes_checkpoints(job)) return;
  const std::string folder = checkpoint_dir(job).string();
  std::string problem = difference(folder, tag);
  for (int look = 1; look < looks_max && !problem.empty(); ++look) {
    std::this_thread::sleep_for(between_looks);
    problem = difference(folder, tag);
  }
  if (!problem.empty()) {
    throw Error(
        ErrorKind::environment,
        fmt::format("the checkpoint folder {} on node {} (host {}) is not the one of node 0: {}. Every "
                    "node writes its part of a checkpoint there: set {} to a folder that all nodes share, "
                    "under the same path on each",
                    std::filesystem::absolute(folder).string(), node, LockHolder::this_process("", "").host,
                    problem, key_of_checkpoints(job)));
  }
  require_writable(disk, folder, key_of_checkpoints(job));
  held.hold(folder, tag, HeldFolders::Lock::of_other);
}

void put_aside(Disk& disk, const JobConfig& job) {
  const std::string directory = checkpoint_dir(job).string();
  const auto aside = [&](int number, const std::string& name) {
    return fmt::format("old-{}.{}", number, name);
  };
  const auto found = find_checkpoints(disk, directory);
  const auto is_taken = [&](int number) {
    if (disk.exists(join_path(output_dir(job).string(), aside(number, "metrics.jsonl"))) ||
        disk.exists(join_path(output_dir(job).string(), aside(number, "results"))))
      return true;
    if (!disk.exists(directory)) return false;
    for (const auto& entry : disk.list(directory))
      if (entry.name.starts_with(aside(number, ""))) return true;
    return false;
  };
  int number = 1;
  while (is_taken(number)) ++number;
  // Within the folder, because a folder without permissions can be renamed but not moved to another.
  for (const auto& checkpoint : found) {
    disk.rename(checkpoint.path, join_path(directory, aside(number, checkpoint_name(checkpoint.step))));
  }
  for (const char* name : {"metrics.jsonl", run_record_name}) {
    const std::string file = join_path(output_dir(job).string(), name);
    if (disk.exists(file)) disk.rename(file, join_path(output_dir(job).string(), aside(number, name)));
  }
  const std::string results = results_dir(job).string();
  if (job.inference && disk.exists(results))
    disk.rename(results, join_path(output_dir(job).string(), aside(number, "results")));
  disk.remove_all(join_path(output_dir(job).string(), last_checkpoint_name));
  set_best_link(directory, std::nullopt);
  log::info("--fresh: the job begins at step 1; {} in {} and its {} are kept as old-{}.*",
            counted(found.size(), "checkpoint"), directory, job.inference ? "results" : "metrics.jsonl",
            number);
}

}  // namespace d9d
