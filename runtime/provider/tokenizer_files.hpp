#pragma once
// The files of the tokenizer that belongs to a model: copied into every checkpoint and export,
// under the names that Hugging Face's folders give them. Blocks on the disk. No torch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Name in the folder -> contents. Chat templates in a folder of their own (additional_chat_templates/NAME.jinja) are
// called additional_chat_templates.NAME.jinja here and in checkpoints, whose files are in no folders. Other files of
// the model's folder (a licence, a README) are called carried.NAME.
using TokenizerFiles = std::map<std::string, std::string>;

// The files for a job: data.tokenizer with the files beside it, else the files of source_checkpoint,
// else of model_provider.from. Makes tokenizer_config.json when there is none; generation_config.json
// gets the special tokens that job, model and folder know, chat_template.jinja the file of data.chat_template. Beside
// them the other small files of the model's folder, alone where no tokenizer is known.
TokenizerFiles tokenizer_files_of(const Disk& disk, const JobConfig& job, const FamilyModel* model);
// The tokenizer's files in a checkpoint or in a model's folder.
TokenizerFiles tokenizer_files_in(const Disk& disk, const std::string& directory);
// For a checkpoint: replaces the tokenizer of the folder, which is made if needed. Does nothing when `files` is empty.
// Returns what the checkpoint's manifest says of them.
std::vector<ManifestFile> write_tokenizer_files(Disk& disk, const std::string& directory,
                                                const TokenizerFiles& files);

// For a model's folder: writes them over those that have the same names; the others stay.
void add_tokenizer_files(Disk& disk, const std::string& directory, const TokenizerFiles& files);

struct SpecialTokens {
  std::vector<std::int64_t> eos;
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> pad;
};
// What `directory`/generation_config.json says; nothing without such a file.
SpecialTokens special_tokens_in(const Disk& disk, const std::string& directory);

}  // namespace d9d
