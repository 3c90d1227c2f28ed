#pragma once
// What the actors of one process share for the life of the process: the job, its pieces, the disk. What
// belongs to one membership is in epoch_services.hpp. Made by run_job; outlives every actor. No torch.

#include <memory>
#include <string>
#include <vector>

#include "actors/core/world.hpp"
#include "actors/job/process/prepared_job.hpp"
#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/launch/host_share.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/pipeline/program/shared_search.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {

namespace net {
class Gate;
}

class HeldFolders;

struct ProcessServices {
  const LoadedJob& loaded;
  const PreparedJob& prepared;
  World& world;
  Disk& disk;
  net::Gate& gate;
  int threads_per_rank = 1;
  std::vector<RankMemory> memory{};  // estimated, by pipeline rank; empty: nothing is estimated
  std::shared_ptr<SharedSearch> schedule_search = std::make_shared<SharedSearch>();
  ProgressDisplay* progress = nullptr;  // node 0
  DiskWatch* disk_watch = nullptr;      // for files that are not opened through `disk`
  HeldFolders* held_folders = nullptr;
  std::string job_token{};  // the secret that the user gave the job; empty: none
  HostShare share{};        // this process's part of the host; decides which devices it takes

  const JobConfig& job() const { return loaded.job; }
};

}  // namespace d9d
