#pragma once
// Coordinator: membership, the start and end of a job, and the commit of checkpoints. Own thread: a commit waits
// for the disk. One per job, on node 0. Parent: Node 0.
// hears Join PeerDown NodeReady RankFinished Failed ShardWritten CheckpointState TrackerState ModelExported
//       TraceWritten Tick
// says Refused Welcome StartTraining CheckpointCommitted SaveTracker ExportModel FlushTrace Publish StopNode

#include <functional>
#include <set>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/pending_saves.hpp"
#include "actors/roster.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/trace.capnp.h"

namespace d9d {

struct ResumePoint {
  std::string directory;  // committed checkpoint, empty = a fresh start
  std::uint64_t step = 0;
  std::string state;              // JSON: what the checkpoint keeps beside tensors
  std::uint64_t next_sample = 0;  // data cursor in global samples
  std::uint64_t entries = 0;      // tensors in it: all of them must find a place
};

struct CoordinatorOptions {
  int world_size = 1;
  std::string build;
  std::string job_hash;
  std::string token;
  std::string tag;  // random per job start: names what is being written
  std::chrono::milliseconds join_timeout{600'000};
  std::function<ResumePoint()> find_resume_point;
  // Opens the rendezvous of the collectives: host and port. Not called for a job of one process.
  std::function<std::pair<std::string, std::uint16_t>()> open_store;
  std::function<std::string(const CheckpointParts&)> commit;  // returns the directory
  std::function<void(std::uint64_t)> discard;                 // of the checkpoint after this step
  std::string export_to;                                      // empty = no export
  bool trace = false;                                         // write a trace file at the end
};

class Coordinator final : public Actor {
 public:
  Coordinator(World& world, CoordinatorOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void join(wire::Join::Reader message);
  void peer_down(wire::PeerDown::Reader message);
  void node_ready(wire::NodeReady::Reader message);
  void rank_finished(wire::RankFinished::Reader message);
  void failed(wire::Failed::Reader message);
  void shard_written(wire::ShardWritten::Reader message);
  void checkpoint_state(wire::CheckpointState::Reader message);
  void tracker_state(wire::TrackerState::Reader message);
  void model_exported(wire::ModelExported::Reader message);
  void trace_written(wire::TraceWritten::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  struct Ending {
    bool failed = false;
    std::string reason;
    bool input_error = false;
    void write(wire::StopNode::Builder stop) const;
  };

  void remind_later();
  void watch_members();
  void form();
  void welcome(std::size_t node, const std::pair<std::string, std::uint16_t>& store);
  void commit_when_complete(std::uint64_t step);
  void conclude_save(std::uint64_t step, const std::string& directory, const std::string& failure);
  void export_model();
  void flush_traces();
  void rescue_traces();
  std::string what_is_kept() const;
  void conclude_job();
  void end_job(bool ok, const std::string& reason, bool input_error = false);
  void leave();
  void tell_to_stop(const MailboxPtr& mailbox, ActorId node);
  void publish(const char* event, std::uint64_t step, const std::string& context);

  CoordinatorOptions options_;
  Roster roster_;
  bool ended_ = false, left_ = false, waits_for_tracker_ = false;
  bool training_ = false;  // StartTraining was told
  bool trained_ = false;   // a rank has done a step that the checkpoint had not
  bool asked_traces_ = false;
  bool awaits_rescue_ = false;  // the trace of a failed job, for a moment
  Ending ending_;
  std::string failure_;              // the first one whose cause may still be a node that is gone
  std::set<std::uint32_t> gone_;     // nodes whose process ended before the job did
  std::set<std::uint32_t> staying_;  // nodes that were told to stop and have not gone yet
  ResumePoint resume_;
  std::set<int> nodes_ready_, ranks_finished_;
  std::uint64_t entries_taken_ = 0;  // of the resumed checkpoint
  PendingSaves saves_;
  std::string last_checkpoint_;  // committed; at first the one resumed from
  std::string unsaved_;          // why the newest checkpoint is not there
};

}  // namespace d9d
