#pragma once
// What a folder of training checkpoints holds, for people: also what no job would take. No torch.

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
  damaged,     // or cannot be read: `problem` says what is wrong
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
  bool is_best = false;                     // of the complete ones the one with the lowest
};

// When it was committed, in UTC: its manifest is written last. Of an unfinished one, when its folder was changed
// last. "?" when it is gone.
std::string written_at(const SaveSummary& save);

// `directory` itself, or its folder `checkpoints` where it is the folder of a run. An input error when
// `directory` is not there.
std::string saves_folder(const Disk& disk, const std::string& directory);
// Newest first; what is unfinished comes after the checkpoint of its step.
std::vector<SaveSummary> survey_checkpoints(const Disk& disk, const std::string& directory);
// `directory` when it is a checkpoint, else the newest good one in it: its path. An input error when there is
// none, an environment error when none can be used.
std::string checkpoint_in(const Disk& disk, const std::string& directory, Check check);

}  // namespace d9d
