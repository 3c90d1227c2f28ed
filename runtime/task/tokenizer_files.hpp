#pragma once
// The tokenizer that goes with a model: small files that lie in every checkpoint and go out with an export,
// under the names that Hugging Face's folders give them. Blocks on the disk. No torch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk.hpp"
#include "runtime/task/job_config.hpp"

namespace d9d {

using TokenizerFiles = std::map<std::string, std::string>;  // name in the folder -> contents

// Of a job: data.tokenizer with the files beside it, else the files of source_checkpoint, else of
// model_provider.from; tokenizer_config.json is made where there is none, generation_config.json says the
// special tokens that job, model and folder know. Empty where no tokenizer is known.
TokenizerFiles tokenizer_files_of(const Disk& disk, const JobConfig& job, const FamilyModel* model);
// Those that lie in a checkpoint or in a model's folder.
TokenizerFiles tokenizer_files_in(const Disk& disk, const std::string& directory);
// Replaces whatever tokenizer the folder held; makes the folder. No files: nothing is touched.
void write_tokenizer_files(Disk& disk, const std::string& directory, const TokenizerFiles& files);

struct SpecialTokens {
  std::vector<std::int64_t> eos;
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> pad;
};
// What `directory`/generation_config.json says; nothing without such a file.
SpecialTokens special_tokens_in(const Disk& disk, const std::string& directory);

}  // namespace d9d
