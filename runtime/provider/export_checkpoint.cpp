#include "runtime/provider/export_checkpoint.hpp"

#include "runtime/provider/model_provider.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/model/export_folder.hpp"

namespace d9d {

void export_checkpoint(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                       const std::string& target, const ExportWork& work) {
  write_model_folder(
      disk, target, [&](const std::string& folder) { export_share(disk, model, checkpoint, folder, work); },
      OtherFiles::kept);
}

void export_share(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                  const std::string& folder, const ExportWork& work) {
  if (work.share.index == 0) {
    disk.make_directories(folder);
    add_tokenizer_files(disk, folder, tokenizer_files_in(disk, checkpoint));
  }
  model.export_share(checkpoint, folder, work);
}

void export_adapter(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                    const std::string& target) {
  write_model_folder(disk, target,
                     [&](const std::string& folder) { model.export_adapter(checkpoint, folder); });
}

}  // namespace d9d
