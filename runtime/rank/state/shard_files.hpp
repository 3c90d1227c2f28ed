#pragma once
// Writes snapshots to disk. The RankExecutor hands a ShardParcel to the CheckpointWriter, which writes
// it with this function; the Coordinator then commits the files of all ranks
// (state/checkpoint/checkpoint_commit.hpp). No torch in this header.

#include <string>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Writes the ShardParcel of ticket `shard` to directory/file. Waits for the copies of a device. Returns the
// report as JSON. A failed device is a bug error, not an environment error as of the disk.
std::string write_shard_file(Disk& disk, TensorTable& table, const std::string& directory,
                             const std::string& file, Ticket shard);

}  // namespace d9d
