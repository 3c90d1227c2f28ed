#pragma once
// A run of the original made into a checkpoint with which a job here goes on. Blocks on the disk.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_load.hpp"
#include "runtime/provider/original_run.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

struct RunMove {
  std::string from;  // a checkpoint of the original, or the folder of a run: then its last one
  std::string
      mapper;  // a file of rules (state/convert/conversion_rules.hpp); empty: names of the original's families
  std::vector<std::string> buffers;  // see read_original_run()
  Moments moments = Moments::read;
  std::optional<std::uint64_t> next_sample;  // nothing: after as many steps of the job's own batch size
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;  // what is held in memory at once, beside one tensor
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // tensors
};

struct MovedRun {
  std::string checkpoint;
  std::uint64_t step = 0;
  std::uint64_t next_sample = 0;
  std::size_t num_tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  // what the user should know
};

// Writes <checkpoints of the job>/save-<step>, whole or not at all. Input errors: those of DcpFolder,
// read_original_run() and the rules; the job's run has checkpoints already; the model of the job has other
// parameters.
MovedRun move_run(Disk& disk, const LoadedJob& loaded, const RunMove& move);

}  // namespace d9d
