#include "runtime/state/model/export_folder.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/model/model_index.hpp"

namespace d9d {
namespace {

constexpr const char* config_file = "config.json";
const std::string staging_prefix = ".d9d-export-";
const std::string publishing_prefix = ".d9d-publish-";  // while its files are moved out of it

// With these a loader takes the folder for a model, so they go first and come last.
bool is_entry(const std::string& name) {
  return name == config_file || name == model_index_name || name == model_single_name;
}

// Entries first.
std::vector<DirectoryEntry> entries_first(std::vector<DirectoryEntry> files) {
  std::stable_partition(files.begin(), files.end(), [](const auto& file) { return is_entry(file.name); });
  return files;
}

void remove_older_model(Disk& disk, const std::string& target) {
  for (const auto& file : entries_first(disk.list(target)))
    if (file.is_directory ? file.name == chat_templates_folder : is_model_file(file.name))
      disk.remove_all(join_path(target, file.name));
}

void move_into(Disk& disk, const std::string& staging, const std::string& target, OtherFiles others) {
  auto files = entries_first(disk.list(staging));
  std::reverse(files.begin(), files.end());
  remove_older_model(disk, target);
  for (const auto& file : files) {
    const std::string to = join_path(target, file.name);
    const bool stays = others == OtherFiles::kept && !file.is_directory && !is_model_file(file.name);
    if (!stays || !disk.exists(to)) disk.rename(join_path(staging, file.name), to);
  }
  disk.remove_all(staging);
  disk.sync_directory(target);
}

bool is_folder(const DirectoryEntry& entry, const std::string& prefix) {
  return entry.is_directory && entry.name.starts_with(prefix);
}

// Of an export that was killed. While it moved its files, the target had parts of a model: they go first.
void remove_leftovers(Disk& disk, const std::string& target) {
  if (has_half_a_model(disk, target)) remove_older_model(disk, target);
  for (const auto& entry : disk.list(target))
    if (is_folder(entry, staging_prefix) || is_folder(entry, publishing_prefix))
      disk.remove_all(join_path(target, entry.name));
}

}  // namespace

bool is_model_file(const std::string& name) {
  constexpr std::array patterns{"config.json",
                                "generation_config.json",
                                "model.safetensors",
                                "model.safetensors.index.json",
                                "model-*-of-*.safetensors",
                                "pytorch_model*.bin",
                                "pytorch_model.bin.index.json",
                                "adapter_config.json",
                                "adapter_model.*",
                                "tokenizer.json",
                                "tokenizer_config.json",
                                "tokenizer.model",
                                "special_tokens_map.json",
                                "added_tokens.json",
                                "vocab.json",
                                "vocab.txt",
                                "merges.txt",
                                "chat_template.*",
                                "preprocessor_config.json",
                                "processor_config.json",
                                "model-writer-*.tmp"};
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

bool has_half_a_model(const Disk& disk, const std::string& target) {
  const auto entries = disk.list(target);
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return is_folder(entry, publishing_prefix); });
}

FolderExport::FolderExport(Disk& disk, std::string target, const std::string& tag, OtherFiles others)
    : disk_(disk),
      target_(std::move(target)),
      tag_(tag),
      folder_(join_path(target_, staging_prefix + tag)),
      publishing_(join_path(target_, publishing_prefix + tag)),
      is_new_(!disk.exists(target_)),
      others_(others) {
  disk_.make_directories(target_);
  if (!is_held_here(target_))  // the job's own folder is locked already
    lock_.emplace(target_, LockHolder::this_process("an export", tag));
  try {
    remove_leftovers(disk_, target_);
    disk_.make_directories(folder_);
  } catch (...) {
    if (is_new_) remove_quietly(disk_, target_);
    throw;
  }
}

FolderExport::~FolderExport() {
  if (published_ || (lock_ && loss_of(target_, tag_))) return;
  if (is_new_) remove_quietly(disk_, target_);
  try {
    if (!is_new_) remove_leftovers(disk_, target_);
  } catch (const Error&) {  // the next export removes them
  }
}

void FolderExport::publish() {
  const auto loss = lock_ ? loss_of(target_, tag_) : std::nullopt;
  if (loss) throw Error(ErrorKind::environment, *loss);
  disk_.rename(folder_, publishing_);
  move_into(disk_, publishing_, target_, others_);
  published_ = true;
}

void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write, OtherFiles others) {
  FolderExport folder(disk, target, std::to_string(::getpid()), others);
  write(folder.folder());
  folder.publish();
}

}  // namespace d9d
