#pragma once
// Finds out whether the files that a job reads have changed since the start that wrote its
// checkpoint. Blocks on the disk.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The key of a checkpoint's state for {"data": [...], "evaluation": [...], "weights": [...], "adapters":
// [...]}, lists of FilePrint. It has weights only if a resume reads them again: those of an inference job,
// and those that checkpoints leave out (checkpoint_only_trainable_parameters).
inline constexpr const char* inputs_key = "inputs";
nlohmann::json input_prints(const Disk& disk, const JobConfig& job);

struct ChangedInput {
  std::string what;    // "data", ...
  std::string told;    // the change in words: "d.txt has 9 bytes and had 5"
  bool grown = false;  // the old content is unchanged, and more was appended
  // Of a file that has grown; empty where whole files were added.
  std::string file{};
  std::string old_end{};  // the last bytes of its old content; empty of a packed file
};
// Whether new data at the end changes samples before it: their order, or what is in them. Always for a plugin's source.
bool is_moved_by_growth(const DataConfig& data);
// Whether the change is growth that leaves the samples before it as they were, but for goes_on().
bool keeps_samples(const DataConfig& data, const ChangedInput& change);
// Whether the last document of the old data may go on in the new data of a file, so that the last of the old samples
// may change: its old content does not end where a line, paragraph or file of text ends.
bool goes_on(const DataConfig& data, const ChangedInput& change);
// Returns the changes between two results of input_prints(). A group that one of them lacks is not compared.
std::vector<ChangedInput> changed_inputs(const Disk& disk, const nlohmann::json& then,
                                         const nlohmann::json& now);

// Returns the files of the tokenizer that differ from those in a checkpoint.
// `files`: of the checkpoint's manifest.
std::vector<std::string> changed_tokenizer(const std::vector<ManifestFile>& files, const TokenizerFiles& now);

// Returns a line on the consequence of each change with which the job can continue. Input error
// when frozen weights changed, which no checkpoint has: the trained weights belong to another
// model. `cursor`: the next sample.
std::vector<std::string> told_changes(const std::vector<ChangedInput>& changes,
                                      const std::vector<std::string>& tokenizer, const JobConfig& job,
                                      const std::string& checkpoint, std::uint64_t cursor);

// For an export, which reads the frozen weights once more: input error where the job's checkpoints leave them out and
// they are not those that the start read which wrote this one.
void require_same_frozen_weights(const Disk& disk, const JobConfig& job, const std::string& checkpoint);

}  // namespace d9d
