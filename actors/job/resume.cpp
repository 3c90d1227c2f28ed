#include "actors/job/resume.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/checkpoint_commit.hpp"
#include "runtime/state/manifest.hpp"
#include "runtime/task/job_load.hpp"
#include "runtime/task/job_paths.hpp"

namespace d9d {
namespace {

// Distinct tensors, whatever the number of slices.
std::uint64_t num_tensors(const Manifest& manifest) {
  std::set<std::string> names;
  for (const ManifestEntry& entry : manifest.entries) names.insert(entry.kind + "/" + entry.name);
  return names.size();
}

ResumePoint find_resume_point(JobServices& services, const std::string& job_hash) {
  const std::string directory = checkpoint_dir(services.job()).string();
  // Nobody writes yet: what an earlier, killed run left half-done may go.
  for (const std::string& name : remove_stale(services.disk, directory))
    log::info("removed the leftover {}", name);
  const Choice choice = newest_good_checkpoint(services.disk, directory, Check::contents);
  if (!choice.checkpoint) return {};
  const Manifest manifest = read_manifest(services.disk, choice.checkpoint->path);
  if (manifest.job_hash != job_hash) {
    log::warn("{} was written by another version of this job file; going on with it",
              choice.checkpoint->path);
  }
  log::info("resuming from {}", choice.checkpoint->path);
  return {.directory = choice.checkpoint->path,
          .step = manifest.step,
          .state = manifest.extra,
          .next_sample = manifest.data_cursor,
          .entries = num_tensors(manifest)};
}

std::string commit(JobServices& services, const std::string& job_hash, const std::string& tag,
                   const CheckpointParts& parts) {
  const std::string directory = checkpoint_dir(services.job()).string();
  nlohmann::json extra{{"job", nlohmann::json(resolved_keys(services.job()))},
                       {"ranks", nlohmann::json::object()},
                       {"tracker", nlohmann::json::parse(parts.tracker_state)}};
  for (const auto& [rank, state] : parts.rank_states)
    extra["ranks"][std::to_string(rank)] = nlohmann::json::parse(state);
  std::vector<ShardReport> reports;
  for (const std::string& report : parts.reports) reports.push_back(shard_report_from_json(report));
  const Manifest manifest =
      with_reports({.step = parts.step,
                    .data_cursor = parts.next_sample,
                    .seed = static_cast<std::uint64_t>(services.job().trainer.determinism.base_seed),
                    .epoch = services.world.epoch.load(),
                    .job_hash = job_hash,
                    .extra = extra.dump()},
                   reports);
  const std::string final_dir = join_path(directory, checkpoint_name(parts.step));
  commit_checkpoint(services.disk, join_path(directory, temporary_name(parts.step, tag)), final_dir,
                    manifest);
  if (const auto keep = services.job().trainer.checkpointing.num_to_keep) {
    rotate_checkpoints(services.disk, directory, static_cast<std::size_t>(*keep));
  }
  return final_dir;
}

}  // namespace

CoordinatorOptions coordinator_options(JobServices& services, const NodeOptions& node,
                                       const std::string& tag) {
  const JobConfig& job = services.job();
  return {
      .world_size = job.mesh.world_size(),
      .build = node.build,
      .job_hash = node.job_hash,
      .token = node.token,
      .tag = tag,
      .join_timeout = std::chrono::seconds(job.trainer.timeout.init_timeout),
      .find_resume_point = [&services, hash = node.job_hash] { return find_resume_point(services, hash); },
      .open_store =
          [&services] {
            services.store = Store::host(services.host, 0);
            return std::pair(services.store->address(), services.store->port());
          },
      .commit = [&services, hash = node.job_hash,
                 tag](const CheckpointParts& parts) { return commit(services, hash, tag, parts); },
      .discard =
          [&services, tag](std::uint64_t step) {
            services.disk.remove_all(
                join_path(checkpoint_dir(services.job()).string(), temporary_name(step, tag)));
          },
      .export_to = job.export_to.value_or(""),
      .trace = job.node.trace};
}

}  // namespace d9d
