#pragma once
// Writes a model folder so that it appears whole or not at all. Blocks on the disk.

#include <functional>
#include <optional>
#include <string>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

// What happens to a file in the target that is no part of a model (a README of the user's) and has
// the name of a new file.
enum class OtherFiles { replaced, kept };

// A new folder inside `target` that this process fills, alone or with others that see the same
// disk. It locks the target meanwhile (folder_lock.hpp) and removes the remains of a killed export.
class FolderExport {
 public:
  // `tag` distinguishes this export from others.
  FolderExport(Disk& disk, std::string target, const std::string& tag,
               OtherFiles others = OtherFiles::replaced);
  // Unless publish() was called, the target stays as it was.
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
// Before that all files of an older model (weights, config, tokenizer) are removed, so
// that two models never mix; other files stay. The files that make a folder a model (the
// index, config.json) are moved last. If `write` fails, `target` stays as it was. Locks
// the folder meanwhile (folder_lock.hpp).
void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write,
                        OtherFiles others = OtherFiles::replaced);

// Whether an export was killed while it moved its files, so that `target` has only a
// part of a model.
bool has_half_a_model(const Disk& disk, const std::string& target);

// The sub-folder of a model folder for further chat templates, as in transformers.
inline constexpr const char* chat_templates_folder = "additional_chat_templates";

// Whether a file of that name is part of a model folder in the Hugging Face layout.
bool is_model_file(const std::string& name);

}  // namespace d9d
