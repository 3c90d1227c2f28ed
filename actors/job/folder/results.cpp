#include "actors/job/folder/results.hpp"

#include <fmt/format.h>

#include "runtime/job/job_paths.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

// Returns an empty path if there is no trace or the folder cannot be read: a missing result is no error here.
fs::path newest_trace(const fs::path& directory) {
  fs::path newest;
  fs::file_time_type when = fs::file_time_type::min();
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const bool trace = entry.path().string().ends_with(".json.gz");
    const fs::file_time_type written = trace ? entry.last_write_time(ignored) : when;
    if (trace && written >= when) newest = entry.path(), when = written;
  }
  return newest;
}

fs::path newest_checkpoint(const fs::path& directory) {
  try {
    const auto found = find_checkpoints(PosixDisk(), directory.string());
    return found.empty() ? fs::path() : fs::path(found.front().path);
  } catch (const std::exception&) {
    return {};
  }
}

fs::path tensorboard_of(const JobConfig& job) {
  for (const TrackerConfig& tracker : job.trainer.logging.tracker.items) {
    if (const auto* tensorboard = std::get_if<TensorboardTracker>(&tracker)) {
      return tensorboard_dir(job, *tensorboard);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> results_of(const JobConfig& job) {
  const fs::path folder = output_dir(job);
  const std::pair<const char*, fs::path> all[] = {
      {"of samples", job.inference ? results_dir(job) : fs::path()},
      {"metrics", metrics_file(job)},
      {"log", log_file(job, 0).parent_path()},
      {"TensorBoard", tensorboard_of(job)},
      {"last checkpoint", newest_checkpoint(checkpoint_dir(job))},
      {"trace", newest_trace(traces_dir(job))},
      {"exported model", job.export_to.value_or("")},
      {"adapter", job.export_adapter_to.value_or("")}};
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& [what, path] : all) {
    if (path.empty() || !fs::exists(path, ignored)) continue;
    lines.push_back(fmt::format("  {:<15} {}", what, path.string()));
  }
  if (!lines.empty()) lines.insert(lines.begin(), fmt::format("results in {}:", folder.string()));
  return lines;
}

}  // namespace d9d
