#pragma once
// The coordinator's side of checkpoints: commits one, finds the newest good one, removes
// old ones. No torch.
// A checkpoint is called "save-<step>" when it is committed, and "save-<step>.tmp-<tag>" while it
// is written or removed.

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

// Commits a checkpoint; call it after all shards are written. Checks that `temporary` holds exactly
// the manifest's files and that the slices are complete, writes the manifest, syncs, renames to
// `final`, and syncs the parent. No reader finds the checkpoint before the rename. If `final`
// exists, the two are exchanged in one step and the old one is removed.
// Input error: a wrong manifest. Environment error: the disk fails or a shard is missing.
void commit_checkpoint(Disk& disk, const std::string& temporary, const std::string& final,
                       const Manifest& manifest);

struct FoundCheckpoint {
  std::uint64_t step = 0;
  std::string path;
  friend bool operator==(const FoundCheckpoint&, const FoundCheckpoint&) = default;
};

// Lists committed checkpoints, newest first, without checking them. Empty for a directory
// that does not exist.
std::vector<FoundCheckpoint> find_checkpoints(const Disk& disk, const std::string& directory);

enum class Check {
  sizes,     // manifest, and every file there with its size
  contents,  // and every file's checksum: reads all bytes once
};
// Says what is wrong with a checkpoint, with the file (and the tensor, if its bytes are wrong);
// nothing if it is good. A checkpoint that cannot be read (permissions, an I/O error, a mount that
// went away) is not damaged: that is an environment error.
std::optional<std::string> damage_of(const Disk& disk, const FoundCheckpoint& checkpoint, Check check);

struct CheckpointSearch {
  std::optional<FoundCheckpoint> checkpoint;  // the newest good one
  std::vector<std::string> refused;           // why newer ones were refused
  std::vector<FoundCheckpoint> damaged;       // the refused ones, newest first
};
// Finds the newest good checkpoint and logs each refusal as a warning. Environment error that names
// the checkpoint: one newer than every good one cannot be read, because it may be the better one.
CheckpointSearch newest_good_checkpoint(const Disk& disk, const std::string& directory, Check check);

// Removes the temporary folders of killed runs and returns their names. Call it only while no
// writer is at work.
std::vector<std::string> remove_stale(Disk& disk, const std::string& directory);
// Keeps the newest `num_to_keep` good checkpoints and removes older good ones: first by renaming
// them, then from disk. Neither counts nor touches a checkpoint that is damaged, cannot be read, is
// a foreign folder or one of `damaged_steps`. Keeps the checkpoint of `also_kept` too, whether or
// not it is among the newest. Returns the removed names.
std::vector<std::string> rotate_checkpoints(Disk& disk, const std::string& directory, std::size_t num_to_keep,
                                            const std::set<std::uint64_t>& damaged_steps = {},
                                            std::optional<std::uint64_t> also_kept = std::nullopt);

}  // namespace d9d
