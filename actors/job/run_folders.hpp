#pragma once
// The folders that a job writes to: proved before the first step, held while it runs. Blocks on the disk.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/state/checkpoint/held_folders.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

// In output_dir, where a save_dir is given: the path of the last checkpoint that was committed.
inline constexpr const char* last_checkpoint_name = "last_checkpoint";

// Where the checkpoint after `step` is written until it is committed: the same on all nodes.
std::string temporary_checkpoint_dir(const JobConfig& job, const std::string& tag, std::uint64_t step);

// Where the bytes of a rank that falls asleep are written; the file loses its name at once.
std::string sleep_file(const JobConfig& job, int rank);
// What a process that was killed while it wrote such files has left, or an earlier version. Before any rank runs.
void remove_sleep_files(Disk& disk, const JobConfig& job);

// Node 0's part. Environment errors that name key, folder and remedy: a folder cannot be written, or another
// job has it. `tag` is the job's, random per start: by it the other nodes know that they see the same folder. `held`
// outlives it and hears what it holds.
class RunFolders {
 public:
  RunFolders(Disk& disk, const JobConfig& job, const std::string& tag, DiskWatch& watch, HeldFolders& held);
  // Gives the folders back; those that it made and that are still empty go, as of a job that never began.
  ~RunFolders();
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;

 private:
  explicit RunFolders(HeldFolders& held) : held_(held) {}
  void prove(Disk& disk, const std::string& folder, const std::string& key);
  void hold(const std::string& folder, const LockHolder& holder, DiskWatch& watch);

  HeldFolders& held_;
  std::vector<std::string> made_;
  std::vector<FolderLock> locks_;
};

// What RunFolders will find, as far as looking tells: whether each folder may be written to, and whether
// another job of this host has it. Writes nothing.
void look_at_folders(const JobConfig& job);

// The other nodes' part: the checkpoint folder here is node 0's, and this node can write to it, as long as `held` says so.
void require_shared_folders(Disk& disk, const JobConfig& job, const std::string& tag, int node,
                            HeldFolders& held);

// The job's checkpoints stay under other names, and its metrics.jsonl: the next start begins at step 1.
void put_aside(Disk& disk, const JobConfig& job);

}  // namespace d9d
