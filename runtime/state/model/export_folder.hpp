#pragma once
// A model folder that appears whole or not at all. Blocks on the disk.

#include <functional>
#include <optional>
#include <string>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

// What becomes of files in the target that are no part of a model (a README that somebody wrote) and have a new one's name.
enum class OtherFiles { replaced, kept };

// A new folder inside `target` that somebody fills: this process, or with it others that see the same disk. The
// target is locked meanwhile (folder_lock.hpp), and what an export that was killed left behind is removed.
class FolderExport {
 public:
  // `tag` tells this export from others.
  FolderExport(Disk& disk, std::string target, const std::string& tag,
               OtherFiles others = OtherFiles::replaced);
  // Not published: the target is as before.
  ~FolderExport();
  FolderExport(const FolderExport&) = delete;
  FolderExport& operator=(const FolderExport&) = delete;

  const std::string& folder() const { return folder_; }
  // Moves the files into the target, as write_model_folder() says.
  void publish();

 private:
  Disk& disk_;
  const std::string target_;
  const std::string tag_;
  const std::string folder_;
  const std::string publishing_;
  const bool is_new_;
  const OtherFiles others_;
  bool published_ = false;
  std::optional<FolderLock> lock_;
};

// Lets `write` fill a new folder inside `target` and then moves its files into `target`.
// Before that all files of an older model (weights, config, tokenizer) are removed,
// so that two models never mix; other files stay. The files that make a folder a
// model (the index, config.json) come last. If `write` fails, `target` is as before.
// The folder is locked meanwhile (folder_lock.hpp).
void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write,
                        OtherFiles others = OtherFiles::replaced);

// Whether an export was killed while it moved its files: `target` has parts of a model.
bool has_half_a_model(const Disk& disk, const std::string& target);

// A folder in a model's folder: chat templates beside the usual one, as transformers keeps them.
inline constexpr const char* chat_templates_folder = "additional_chat_templates";

// Whether a file of that name is part of a model folder in the Hugging Face layout.
bool is_model_file(const std::string& name);

}  // namespace d9d
