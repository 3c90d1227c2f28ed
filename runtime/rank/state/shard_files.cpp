#include "runtime/rank/state/shard_files.hpp"

#include "runtime/base/error.hpp"
#include "runtime/rank/state/shard_parcel.hpp"

namespace d9d {
namespace {

// Turns a device's error into a bug error, which ends the job. The rank's thread may never wait for this
// event, so the error would otherwise look like one of the disk, after which training goes on.
void wait_for_copies(const Event& copied) {
  try {
    copied.wait("a snapshot");
  } catch (const std::exception& error) {
    throw Error(ErrorKind::bug,
                fmt::format("a device failed before a snapshot was copied: {}", error.what()));
  }
}

}  // namespace

std::string write_shard_file(Disk& disk, TensorTable& table, const std::string& directory,
                             const std::string& file, Ticket shard) {
  const auto parcel = table.take_as<ShardParcel>(shard);
  wait_for_copies(parcel->copied);
  return to_json(ShardWriter(disk).write(directory, file, parcel->slices));
}

}  // namespace d9d
