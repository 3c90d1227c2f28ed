#pragma once
// CheckpointWriter: writes snapshots and exports to disk while training goes on. Own thread: it waits for the
// disk. One per node. Parent: Node.
// hears WriteShard ExportModel    says ShardWritten ModelExported

#include <functional>
#include <string>

#include "actors/core/actor.hpp"
#include "messages/checkpoint.capnp.h"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct CheckpointWriterOptions {
  // Writes the parcel into directory/file and returns the report (JSON). Throws Error when it cannot.
  std::function<std::string(const std::string& directory, const std::string& file, Ticket shard)> write;
  // Writes one of `shares` shares of the model into the folder. False when this node does not see the folder.
  std::function<bool(const std::string& checkpoint, const std::string& folder, int share, int shares)>
      export_share;
};

class CheckpointWriter final : public Actor {
 public:
  CheckpointWriter(World& world, CheckpointWriterOptions options);
  void behavior(Handlers& handlers) override;

  void write_shard(wire::WriteShard::Reader message);
  void export_model(wire::ExportModel::Reader message);

 private:
  CheckpointWriterOptions options_;
  std::uint32_t track_ = 0;
};

}  // namespace d9d
