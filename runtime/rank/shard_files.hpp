#pragma once
// Snapshots on their way to disk: the parcel a RankExecutor hands to the CheckpointWriter, and what becomes of it.
// The second half is the Coordinator's: one commit of all shards. No torch in this header.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/state/disk.hpp"
#include "runtime/state/manifest.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Writes the ShardParcel behind `shard` to directory/file and returns the report as JSON.
std::string write_shard_file(Disk& disk, TensorTable& table, const std::string& directory,
                             const std::string& file, Ticket shard);

}  // namespace d9d
