#pragma once
// Compares every byte of a training checkpoint with its manifest and lists all mistakes, while a
// load stops at the first one. No torch.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

struct CheckpointFinding {
  std::string file;  // in the checkpoint's folder; "manifest.json" for the checkpoint as a whole
  std::string problem;
  std::vector<std::string> tensors;  // `<kind>/<name>@<slice>`, whose values are lost or wrong
};

struct VerifyReport {
  std::uint64_t num_files = 0;  // in the manifest
  std::uint64_t num_slices = 0;
  std::uint64_t bytes = 0;
  std::vector<CheckpointFinding> findings;  // none: the checkpoint is good
  std::vector<std::string> strangers;       // files of the folder that the manifest does not name: no mistake
};

// Called after each MiB with the bytes done and the bytes of all files.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Reads every byte once and checks names and sizes of files, their checksums, the headers of files
// with tensors (names, dtypes, shapes), and the checksum of each slice. A file that cannot be read
// is a finding too.
VerifyReport verify_checkpoint(const Disk& disk, const std::string& directory,
                               const VerifyProgress& progress = {});

}  // namespace d9d
