#pragma once
// How a snapshot gets to disk: the RankExecutor hands a
// ShardParcel to the CheckpointWriter, which writes it here.
// The Coordinator then commits the files of all ranks (state/checkpoint_commit.hpp). No torch in this header.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Writes the ShardParcel of ticket `shard` to directory/file and returns the report as JSON. Waits for a device that
// copies it; if the device has failed, that is a bug error and no environment error of the disk.
std::string write_shard_file(Disk& disk, TensorTable& table, const std::string& directory,
                             const std::string& file, Ticket shard);

}  // namespace d9d
