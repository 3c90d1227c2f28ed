#include "runtime/model_folder/carried_files.hpp"

#include <algorithm>

#include "runtime/state/disk/folder_lock.hpp"
#include "runtime/state/pattern.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t all_bytes_max = 32 << 20;  // together

}  // namespace

bool holds_weights(const std::string& name) {
  static const std::vector<std::string> patterns{"*.safetensors", "*.index.json", "*.bin", "*.pt",
                                                 "*.pth",         "*.gguf",       "*.h5",  "*.msgpack",
                                                 "*.onnx",        "*.tmp"};
  return matches_any(name, patterns);
}

bool is_carried(const DirectoryEntry& entry) {
  return !entry.is_directory && !entry.name.starts_with(".") && entry.name != lock_name &&
         !holds_weights(entry.name);
}

CarriedFiles carried_files_in(const Disk& disk, const std::string& directory,
                              const std::vector<std::string>& read, std::uint64_t bytes_max) {
  CarriedFiles carried;
  if (!disk.exists(directory)) return carried;
  std::uint64_t all = 0;
  for (const DirectoryEntry& entry : disk.list(directory)) {
    if (!is_carried(entry) || std::ranges::find(read, entry.name) != read.end()) continue;
    const std::string path = join_path(directory, entry.name);
    const std::uint64_t size = disk.open(path)->size();
    if (size > bytes_max || all + size > all_bytes_max) {
      carried.too_large.push_back(entry.name);
    } else {
      all += size;
      carried.contents[entry.name] = read_text(disk, path, bytes_max);
    }
  }
  return carried;
}

}  // namespace d9d
