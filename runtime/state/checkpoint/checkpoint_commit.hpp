#pragma once
// The coordinator's side of checkpoints: commits one, finds the newest good one, removes old ones. No torch.
// Names: "save-<step>" when committed, "save-<step>.tmp-<tag>" while it is written or removed.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

std::string checkpoint_name(std::uint64_t step);                                // "save-12"
std::string temporary_name(std::uint64_t step, const std::string& random_tag);  // "save-12.tmp-<tag>"

// Call it after all shards are written. Checks that `temporary` holds exactly the
// manifest's files and that the slices are complete, writes the manifest, syncs, renames
// to `final`, and syncs the parent. Before the rename no reader finds the checkpoint.
// If `final` exists, the two are exchanged in one step and the old one removed.
// Input error for a wrong manifest; environment error when the disk fails or a shard is missing.
void commit_checkpoint(Disk& disk, const std::string& temporary, const std::string& final,
                       const Manifest& manifest);

struct FoundCheckpoint {
  std::uint64_t step = 0;
  std::string path;
  friend bool operator==(const FoundCheckpoint&, const FoundCheckpoint&) = default;
};

// Committed ones, newest first, unchecked. A directory that does not exist has none.
std::vector<FoundCheckpoint> find_checkpoints(const Disk& disk, const std::string& directory);

enum class Check {
  sizes,     // manifest, and every file there with its size
  contents,  // and every file's checksum: reads all bytes once
};
// What is wrong with a checkpoint, naming the file (and the tensor, where its bytes are wrong); nothing when
// it is good. A checkpoint that cannot be read (permissions, an I/O error, a mount that went away) is not a
// damaged one: that is an environment error.
std::optional<std::string> damage_of(const Disk& disk, const FoundCheckpoint& checkpoint, Check check);

struct CheckpointSearch {
  std::optional<FoundCheckpoint> checkpoint;  // the newest good one
  std::vector<std::string> refused;           // reasons for the newer ones that are not
  std::vector<FoundCheckpoint> damaged;       // these, newest first
};
// Each refusal is also logged as a warning. An environment error, naming the checkpoint,
// where one that is newer than every good one cannot be read: it may be the better one.
CheckpointSearch newest_good_checkpoint(const Disk& disk, const std::string& directory, Check check);

// Removes what a killed run left. Returns the names. Only while no writer is at work.
std::vector<std::string> remove_stale(Disk& disk, const std::string& directory);
// Keeps the newest `num_to_keep` good checkpoints and removes the older good ones, first
// from sight, then from disk. What is damaged, cannot be read, is another's folder or one
// of `damaged_steps` is neither counted nor touched. The checkpoint of `also_kept` stays as well, whether it is one of
// the newest or beside them. Returns the names that are gone.
std::vector<std::string> rotate_checkpoints(Disk& disk, const std::string& directory, std::size_t num_to_keep,
                                            const std::set<std::uint64_t>& damaged_steps = {},
                                            std::optional<std::uint64_t> also_kept = std::nullopt);

}  // namespace d9d
