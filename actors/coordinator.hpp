#pragma once
// Coordinator: membership, the start and end of a job, and the commit of checkpoints. Own thread: a commit waits
// for the disk. One per job, on node 0. Parent: Node 0. Its phases and what follows them: notes/job_phase.hpp.
// hears Join PeerDown NodeReady RankFinished EventsHeard Failed ShardWritten CheckpointState TrackerFlushed
//       ModelExported TraceWritten Signalled Tick    says Refused Welcome StartTraining CheckpointCommitted
//       FlushEvents FlushTracker ExportModel FlushTrace Publish StopNode

#include <optional>
#include <set>
#include <string>

#include "actors/coordinator_options.hpp"
#include "actors/core/actor.hpp"
#include "actors/notes/job_phase.hpp"
#include "actors/notes/pending_saves.hpp"
#include "actors/notes/roster.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/trace.capnp.h"

namespace d9d {

class Coordinator final : public Actor {
 public:
  Coordinator(World& world, CoordinatorOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;
  void join(wire::Join::Reader message);
  void peer_down(wire::PeerDown::Reader message);
  void node_ready(wire::NodeReady::Reader message);
  void rank_finished(wire::RankFinished::Reader message);
  void events_heard(wire::EventsHeard::Reader message);
  void failed(wire::Failed::Reader message);
  void shard_written(wire::ShardWritten::Reader message);
  void checkpoint_state(wire::CheckpointState::Reader message);
  void tracker_flushed(wire::TrackerFlushed::Reader message);
  void model_exported(wire::ModelExported::Reader message);
  void trace_written(wire::TraceWritten::Reader message);
  void signalled(wire::Signalled::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  struct Ending {
    bool failed = false;
    std::string reason;
    bool input_error = false;
    int exit_code = 0;  // 128 + signal; 0 = as the fields above say
    void write(wire::StopNode::Builder stop) const;
  };

  struct Stage;
  static const Stage stages[];

  void set_timer(JobTimer timer, std::chrono::nanoseconds delay);
  void form();
  void welcome(std::size_t node);
  void say_who_is_missing();
  void give_up_gathering();
  void commit_when_complete(std::uint64_t step);
  void conclude_save(std::uint64_t step, const std::string& directory, const std::string& failure);
  void fail(const wire::Failed::Reader& message);
  std::string held_reason() const;
  void give_up_on_save();
  void amend_checkpoint(std::uint64_t step, const std::string& state);
  void next_stage();
  void give_up_on_stage();
  bool tell_events();
  bool flush_tracker();
  bool export_model();
  void tell_to_export(std::uint32_t share, std::uint32_t node);
  void publish_model();
  void fail_export(const std::string& failure);
  void give_up_on_export();
  bool flush_traces();
  void ask_for_spans(std::chrono::milliseconds deadline);
  void conclude_job();
  void end_job(bool ok, const std::string& reason, bool input_error = false, int exit_code = 0);
  std::string and_next_start(const std::string& cause) const;
  void leave_when_alone();
  void leave();
  void tell_to_stop(const MailboxPtr& mailbox, ActorId node);
  void publish(const std::string& event, std::uint64_t step, const std::string& context);

  CoordinatorOptions options_;
  Roster roster_;
  Lifecycle<JobPhase> phase_{JobPhase::gathering, job_transitions};
  // Facts of several phases: what was done, why the job ends, who has answered.
  bool trained_ = false;  // a rank has done a step that the checkpoint does not have
  int stop_signal_ = 0;   // the signal that stops the job; 0 = none
  std::string ended_;     // why an actor or evaluation.stop_after ended the job; empty: neither did
  std::uint64_t stop_step_ = 0, last_step_ = 0;
  Ending ending_;
  std::string failure_;  // the first failure; a lost node may still explain it better
  // A failure that ends the job as soon as the checkpoint of `step` is concluded.
  struct HeldFailure {
    std::string cause;
    bool is_input = false;
    std::uint64_t step = 0;
  };
  std::optional<HeldFailure> held_;
  std::set<std::uint32_t> gone_, staying_;  // nodes that ended too early; nodes told to stop that still run
  ResumePoint resume_;
  std::set<int> nodes_ready_, ranks_finished_, events_heard_;  // the last one counts own actors
  std::uint64_t entries_taken_ = 0;                            // tensors of the resumed checkpoint
  PendingSaves saves_;
  struct Export {
    std::string checkpoint, folder, failure;  // what is exported; where to; why the first share failed
    std::uint32_t shares = 1;
    std::set<std::uint32_t> open;  // shares that are being written
  };
  Export export_;
  std::string last_checkpoint_, unsaved_;  // the last committed or resumed one; why there is no newer one
};

}  // namespace d9d
