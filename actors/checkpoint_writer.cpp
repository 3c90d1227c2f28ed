#include "actors/checkpoint_writer.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

CheckpointWriter::CheckpointWriter(World& world, CheckpointWriterOptions options)
    : Actor(world), options_(std::move(options)) {
  if (world.recorder != nullptr) track_ = world.recorder->actor("disk");
}

void CheckpointWriter::behavior(Handlers& handlers) {
  handlers.on(this, &CheckpointWriter::write_shard);
  handlers.on(this, &CheckpointWriter::export_model);
}

void CheckpointWriter::write_shard(wire::WriteShard::Reader message) {
  std::string report;
  std::string failure;
  if (const Ticket ticket = Ticket::from_packed(message.getTicket())) {
    const Work work(*this, {.actor = track_,
                            .name = trace_name("write shard"),
                            .step = static_cast<std::int32_t>(message.getStep()),
                            .category = trace::Category::io});
    try {
      report = options_.write(message.getDirectory(), message.getFile(), ticket);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::bug) throw;
      // A full disk must not end the job: the Coordinator gives this checkpoint up and training goes on.
      failure = error.what();
    }
  }
  tell<wire::ShardWritten>({Role::coordinator, 0}, [&](wire::ShardWritten::Builder written) {
    written.setStep(message.getStep());
    written.setRank(message.getRank());
    written.setReport(report);
    written.setFailure(failure);
  });
}

void CheckpointWriter::export_model(wire::ExportModel::Reader message) {
  std::string failure;
  bool seen = true;
  try {
    const Work work(*this, {.actor = track_, .name = trace_name("export"), .category = trace::Category::io});
    seen = options_.export_share(message.getCheckpoint(), message.getTarget(),
                                 static_cast<int>(message.getShare()), static_cast<int>(message.getShares()));
  } catch (const Error& error) {
    failure = error.what();
  }
  tell<wire::ModelExported>({Role::coordinator, 0}, [&](wire::ModelExported::Builder exported) {
    exported.setTarget(message.getTarget());
    exported.setFailure(failure);
    exported.setShare(message.getShare());
    exported.setUnseen(!seen);
  });
}

}  // namespace d9d
