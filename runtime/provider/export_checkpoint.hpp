#pragma once
// A committed checkpoint as a folder that others can read: the model's files, and the tokenizer that the
// checkpoint carries. Used by a job's export and by `d9d-node export`.

#include <string>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/export_work.hpp"

namespace d9d {

class ModelProvider;

// All of it or nothing (runtime/state/model/export_folder.hpp). A tokenizer that lay in `target` goes with the
// model it was of, also where the checkpoint carries none. Other files stay, a README too that the checkpoint has.
void export_checkpoint(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                       const std::string& target, const ExportWork& work = {});
// One share of it into `folder`, which somebody publishes when all shares are there (FolderExport).
void export_share(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                  const std::string& folder, const ExportWork& work);
// The checkpoint's adapter alone, in PEFT's format. All of it or nothing.
void export_adapter(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                    const std::string& target);

}  // namespace d9d
