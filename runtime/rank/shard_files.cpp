#include "runtime/rank/shard_files.hpp"

#include "runtime/rank/shard_parcel.hpp"

namespace d9d {

std::string write_shard_file(Disk& disk, TensorTable& table, const std::string& directory,
                             const std::string& file, Ticket shard) {
  const auto parcel = table.take_as<ShardParcel>(shard);
  return to_json(ShardWriter(disk).write(directory, file, parcel->slices));
}

}  // namespace d9d
