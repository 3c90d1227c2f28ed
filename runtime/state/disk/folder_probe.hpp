#pragma once
// Tests by writing whether a folder can be written to, before it is needed. Blocks on the disk.

#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Makes the folder, and writes, syncs and removes a file in it. Environment error that names `key`,
// the job's key of the folder.
void require_writable(Disk& disk, const std::string& folder, const std::string& key);
// The same without making the folder: if it does not exist, tests its nearest existing parent.
void require_creatable(Disk& disk, const std::string& folder, const std::string& key);

}  // namespace d9d
