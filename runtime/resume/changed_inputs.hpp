#pragma once
// Whether the files that a job reads are those of the start that wrote its checkpoint. Blocks on the disk.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Under this key of a checkpoint's state: {"data": [...], "evaluation": [...], "weights": [...], "adapters": [...]},
// lists of FilePrint. Weights only where what a start reads of them counts after a resume: those of an inference job,
// and those that checkpoints leave out (checkpoint_only_trainable_parameters).
inline constexpr const char* inputs_key = "inputs";
nlohmann::json input_prints(const Disk& disk, const JobConfig& job);

struct ChangedInput {
  std::string what;    // "data", ...
  std::string told;    // "d.txt has 9 bytes and had 5"
  bool grown = false;  // what was there is as it was, and more was appended
};
// Whether what comes to the end of the data moves samples before it.
bool is_moved_by_growth(const DataConfig& data);
// `then` and `now` are of input_prints(). Nothing where one of them does not know.
std::vector<ChangedInput> changed_inputs(const Disk& disk, const nlohmann::json& then,
                                         const nlohmann::json& now);

// The files of the tokenizer that differ from those that lie in a checkpoint, of which `files` tells.
std::vector<std::string> changed_tokenizer(const std::vector<ManifestFile>& files, const TokenizerFiles& now);

// Of all changes that the job can go on with, what they mean, a line each. Input error where frozen weights changed,
// which no checkpoint has: the trained ones would go on upon another model. `cursor`: the sample that comes next.
std::vector<std::string> told_changes(const std::vector<ChangedInput>& changes,
                                      const std::vector<std::string>& tokenizer, const JobConfig& job,
                                      const std::string& checkpoint, std::uint64_t cursor);

}  // namespace d9d
