#include "runtime/state/export_folder.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/state/disk_error.hpp"
#include "runtime/state/folder_lock.hpp"
#include "runtime/state/model_index.hpp"

namespace d9d {
namespace {

constexpr const char* config_file = "config.json";
const std::string staging_prefix = ".d9d-export-";

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
    if (!file.is_directory && is_model_file(file.name)) disk.remove_all(join_path(target, file.name));
}

void publish(Disk& disk, const std::string& staging, const std::string& target) {
  auto files = entries_first(disk.list(staging));
  std::reverse(files.begin(), files.end());
  remove_older_model(disk, target);
  for (const auto& file : files) disk.rename(join_path(staging, file.name), join_path(target, file.name));
  disk.remove_all(staging);
  disk.sync_directory(target);
}

// Of an export that was killed.
void remove_leftovers(Disk& disk, const std::string& target) {
  for (const auto& entry : disk.list(target))
    if (entry.is_directory && entry.name.starts_with(staging_prefix))
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
                                "model-writer-*.tmp"};
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write) {
  const std::string process = std::to_string(::getpid());
  const bool is_new = !disk.exists(target);
  disk.make_directories(target);
  std::optional<FolderLock> lock;  // the job's own folder is locked already
  if (!is_held_here(target)) lock.emplace(target, LockHolder::this_process("an export", process));
  remove_leftovers(disk, target);
  const std::string staging = join_path(target, staging_prefix + process);
  try {
    disk.make_directories(staging);
    write(staging);
    publish(disk, staging, target);
  } catch (...) {
    remove_quietly(disk, is_new ? target : staging);
    throw;
  }
}

}  // namespace d9d
