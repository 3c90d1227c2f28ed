#pragma once
// Whether a folder can be written to, found out before it is needed. Blocks on the disk.

#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Makes the folder and in it a file, written, synced and removed again. `key` is the job's key that names the
// folder, for the error: an environment error.
void require_writable(Disk& disk, const std::string& folder, const std::string& key);
// The same without making the folder: where it is not there yet, its nearest parent that is must take it.
void require_creatable(Disk& disk, const std::string& folder, const std::string& key);

}  // namespace d9d
