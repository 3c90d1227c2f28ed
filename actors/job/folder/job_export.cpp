#include "actors/job/folder/job_export.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "actors/coordinator_options.hpp"
#include "actors/job/process/process_services.hpp"
#include "actors/job/process/work_progress.hpp"
#include "runtime/base/error.hpp"
#include "runtime/provider/export_checkpoint.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/resume/changed_inputs.hpp"
#include "runtime/state/model/export_folder.hpp"
#include "runtime/state/model/model_index.hpp"

namespace d9d {
namespace {

constexpr int threads_max = 8;

// Waits up to two seconds for the condition, because a network file system may show another node's files
// late.
template <class Condition>
bool comes_true(const Condition& condition) {
  constexpr int looks_max = 8;
  constexpr std::chrono::milliseconds between{250};
  for (int look = 1; !condition(); ++look) {
    if (look == looks_max) return false;
    std::this_thread::sleep_for(between);
  }
  return true;
}

// Waits until this node sees the files of all other nodes: what it does not see would not be published.
void require_all_files(const Disk& disk, const std::string& folder) {
  const auto weights =
      disk.exists(join_path(folder, model_index_name)) ? read_weight_map(disk, folder) : nullptr;
  if (!weights) return;
  std::set<std::string> missing;
  const auto is_whole = [&] {
    missing.clear();
    for (const auto& [tensor, file] : *weights) missing.insert(file);
    for (const auto& entry : disk.list(folder)) missing.erase(entry.name);
    return missing.empty();
  };
  if (!comes_true(is_whole))
    throw Error(
        ErrorKind::environment,
        fmt::format("{} was written by another node, but does not appear in {}; is it a folder that all "
                    "nodes share?",
                    *missing.begin(), folder));
}

}  // namespace

void add_export(CoordinatorOptions& options, ProcessServices& process, const std::string& tag) {
  const JobConfig& job = process.job();
  options.export_to = job.export_to.value_or(job.export_adapter_to.value_or(""));
  options.export_timeout = std::chrono::seconds(job.trainer.timeout.export_timeout);
  if (!job.export_to) return;
  const auto folder = std::make_shared<std::optional<FolderExport>>();
  options.begin_export = [&process, tag, folder] {
    folder->emplace(process.disk, *process.job().export_to, tag, OtherFiles::kept);
    return (*folder)->folder();
  };
  options.publish_export = [&process, folder] {
    require_all_files(process.disk, (*folder)->folder());
    (*folder)->publish();
    folder->reset();
  };
  options.discard_export = [folder] { folder->reset(); };
}

bool write_export_share(ProcessServices& process, int ranks_here, const std::string& checkpoint,
                        const std::string& folder, const ModelShare& share) {
  const JobConfig& job = process.job();
  if (!folder.empty()) {
    if (!comes_true([&] { return process.disk.exists(folder); })) return false;
    ExportWork work{.share = share,
                    .threads = std::min(ranks_here * process.threads_per_rank, threads_max),
                    .shard_bytes_max = job.export_shard_bytes()};
    std::optional<WorkProgress> bar;
    if (process.progress != nullptr) {
      bar.emplace(*process.progress, process.world.clock);
      work.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar->update(done, total); };
    }
    require_same_frozen_weights(process.disk, job, checkpoint);
    export_share(process.disk, *process.prepared.model, checkpoint, folder, work);
  }
  if (share.index == 0 && job.export_adapter_to)
    export_adapter(process.disk, *process.prepared.model, checkpoint, *job.export_adapter_to);
  return true;
}

}  // namespace d9d
