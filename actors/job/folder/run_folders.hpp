#pragma once
// The folders that a job writes to. They are tried before the first step and locked while the job runs.
// Blocks on the disk.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/state/checkpoint/held_folders.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

// Returns the folder in which all nodes write the checkpoint after `step` until it is committed.
std::string temporary_checkpoint_dir(const JobConfig& job, const std::string& tag, std::uint64_t step);

// Returns the file to which a rank writes its memory when it falls asleep. The file loses its name at once.
std::string sleep_file(const JobConfig& job, int rank);
// Removes such files of processes that were killed while they wrote them, and those of earlier versions.
// Call it before any rank runs.
void remove_sleep_files(Disk& disk, const JobConfig& job);

// Locks the folders, on node 0. Environment error with key, folder and remedy if a folder cannot be written
// or another job has it. `tag`: the job's, random per start; the other nodes find it in the lock and so
// know that they see the same folder. `held` outlives this object and learns which folders it has locked.
class RunFolders {
 public:
  RunFolders(Disk& disk, const JobConfig& job, const std::string& tag, DiskWatch& watch, HeldFolders& held);
  // Gives the locks back. Removes the folders that it made and that are still empty: their job never began.
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

// Finds what RunFolders would refuse, as far as that can be known without writing: a folder without the
// right to write, or one that another job of this host has. Writes nothing.
void look_at_folders(const JobConfig& job);

// Checks on other nodes that the checkpoint folder here is the one of node 0 and can be written. From then
// on `held` checks node 0's lock before each write.
void require_shared_folders(Disk& disk, const JobConfig& job, const std::string& tag, int node,
                            HeldFolders& held);

// Renames the job's checkpoints, metrics.jsonl and results, so that the next start begins at step 1.
void put_aside(Disk& disk, const JobConfig& job);

}  // namespace d9d
