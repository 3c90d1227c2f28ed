#pragma once
// Files of a model's folder that are neither weights nor read: a licence, a README, a vendor's code. Whatever is made
// of the folder carries them. No torch.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Whether a file of this name holds weights, in any vendor's format.
bool holds_weights(const std::string& name);
// Whether a conversion of the folder copies it: no folder, nothing hidden, no weights, no lock.
bool is_carried(const DirectoryEntry& entry);

struct CarriedFiles {
  std::map<std::string, std::string> contents;  // by name
  std::vector<std::string> too_large;           // names of those that are left out
};
// Those of a folder but `read`, whose contents are known otherwise. Each has up to `bytes_max`, all of them 32 MiB,
// because checkpoints keep them; nothing where there is no such folder.
CarriedFiles carried_files_in(const Disk& disk, const std::string& directory,
                              const std::vector<std::string>& read, std::uint64_t bytes_max = 4 << 20);

}  // namespace d9d
