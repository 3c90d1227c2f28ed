#include "runtime/task/export_checkpoint.hpp"

#include "runtime/state/export_folder.hpp"
#include "runtime/task/model_provider.hpp"
#include "runtime/task/tokenizer_files.hpp"

namespace d9d {

void export_checkpoint(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                       const std::string& target) {
  write_model_folder(disk, target, [&](const std::string& folder) {
    write_tokenizer_files(disk, folder, tokenizer_files_in(disk, checkpoint));
    model.export_model(checkpoint, folder);
  });
}

void export_adapter(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                    const std::string& target) {
  write_model_folder(disk, target,
                     [&](const std::string& folder) { model.export_adapter(checkpoint, folder); });
}

}  // namespace d9d
