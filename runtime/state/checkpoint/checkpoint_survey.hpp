#pragma once
// Describes a folder of training checkpoints for people, including those that no job
// would load. No torch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/checkpoint/checkpoint_commit.hpp"

namespace d9d {

enum class SaveState {
  complete,    // the manifest and every file with its size; contents are not read
  damaged,     // or unreadable: `problem` says why
  unfinished,  // being written or removed, or left by a job that was killed
};

std::string_view name_of(SaveState state);

struct SaveSummary {
  std::string name;  // of its folder
  std::string path;
  SaveState state = SaveState::complete;
  std::string problem;
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;  // of all files
  std::size_t num_files = 0;
  std::optional<double> evaluation_loss{};  // of the evaluation that it was written right after
  bool is_best = false;                     // it has the lowest loss of all complete ones
};

// Returns the time of commit in UTC, which is when its manifest was written. For an unfinished
// checkpoint it is the last change of its folder; "?" if it is gone.
std::string written_at(const SaveSummary& save);

// A file in the folder of a run with a save_dir: the path of the last committed checkpoint.
inline constexpr const char* last_checkpoint_name = "last_checkpoint";
// Returns the path in that file; empty if the folder has none.
std::string remembered_checkpoint(const Disk& disk, const std::string& run_folder);

// Returns `directory`, or where its checkpoints are if it is the folder of a run: beside the remembered one, or
// in its folder `checkpoints`. Input error: `directory` does not exist.
std::string saves_folder(const Disk& disk, const std::string& directory);
// Lists checkpoints, newest first. An unfinished one follows the complete one of its step.
std::vector<SaveSummary> survey_checkpoints(const Disk& disk, const std::string& directory);
// Returns the path of a checkpoint: `directory` itself if it is one, else the newest good one in
// it. Input error: it holds none. Environment error: none can be used.
std::string checkpoint_in(const Disk& disk, const std::string& directory, Check check);

}  // namespace d9d
