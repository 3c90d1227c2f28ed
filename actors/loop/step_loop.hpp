#pragma once
// StepLoop: what the steps of a rank have in common, whether its job trains (Trainer) or infers (Inferrer): batch ->
// begin -> computed -> reduced -> what the kind of job does then -> the step's next update, or the next step; also
// events, checkpoints, sleep, signals, deadlines and the end. Its states and what follows them: notes/step_state.hpp.
// Own thread, because it calls users' code: the task's state and finalize, and callbacks. One per rank, at the address
// Role::trainer. Parent: Node.

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/loop/step_loop_options.hpp"
#include "actors/notes/evaluation_run.hpp"
#include "actors/notes/pass.hpp"
#include "actors/notes/rank_saves.hpp"
#include "actors/notes/rank_wishes.hpp"
#include "actors/notes/step_notes.hpp"
#include "actors/notes/step_requests.hpp"
#include "actors/notes/step_state.hpp"
#include "runtime/train/step_end.hpp"

namespace d9d {

class StepLoop : public Actor {
 public:
  void behavior(Handlers& handlers) override;
  void started() override;
  void listeners(wire::Listeners::Reader message);
  void start_training(wire::StartTraining::Reader message);
  virtual void batch_ready(wire::BatchReady::Reader message);
  void data_ended(wire::DataEnded::Reader message);
  virtual void step_computed(wire::StepComputed::Reader message);
  virtual void values_reduced(wire::ValuesReduced::Reader message) = 0;
  virtual void metric_state(wire::MetricState::Reader message);
  void checkpoint_committed(wire::CheckpointCommitted::Reader message);
  void signalled(wire::Signalled::Reader message);
  void slept(wire::Slept::Reader message);
  void wake(wire::Wake::Reader message);
  void awake(wire::Awake::Reader message);
  void end_job(wire::EndJob::Reader message);
  void events_followed(wire::EventsFollowed::Reader message);
  void step_shown(wire::StepShown::Reader message);
  void state_kept(wire::StateKept::Reader message);
  void tick(wire::Tick::Reader message);

 protected:
  struct Kind {
    PassKind pass;
    const char* verb;  // for logs
  };
  StepLoop(World& world, StepLoopOptions options, Kind kind, StepRequests requests);

  // What a kind of job does in its own way.
  virtual std::vector<StepReduction> reductions_of(
      const StepTotals& mine) const = 0;                  // over all ranks, a sum first
  virtual bool begin_work_after_step() { return false; }  // true: it has, and conclude_step() follows
  // Before the first step of a start: whether the run before ended without work that was due after its last step;
  // begin_work_after_step() then begins it. keep_what_was_owed() is called when no more of it follows.
  virtual bool owes_work() const { return false; }
  virtual void keep_what_was_owed() {}
  // Before a step begins. True: the model writes texts that the Loader needs, and advance() follows.
  virtual bool begin_rollouts() { return false; }
  virtual void cancel_rollouts() {}  // no step follows
  virtual bool is_loading() const { return loaded_ < asked_for_; }
  virtual bool take_progress() { return false; }  // of work between two steps, since the last call
  virtual std::vector<std::uint64_t> skipped_updates() const { return {0}; }  // of each update of a step
  // Members that a checkpoint's state has beside those of every kind: as text, each after a comma; rank 0's.
  virtual std::string state_after(std::uint64_t /*step*/) const { return {}; }
  virtual void add_state_of_rank_0(nlohmann::json& /*state*/) const {}

  // Why a job ends before its total_steps without being asked to.
  static constexpr const char* stream_ended = "the stream of its data has ended";
  static LoadedBatch batch_of(wire::BatchReady::Reader message);
  // A step of an inference job, too, is one update here.
  void begin_update(int update);
  bool is_last_update() const { return update_ + 1 == options_.phases.num_updates(); }
  void reduce_when_followed();
  // The wishes go with the first of the reductions, which is a sum; null: with none.
  void reduce_over_world(std::vector<StepReduction> reductions, const RankWishes* wishes = nullptr);
  void report(const StepResult& result, double learning_rate);
  void obey(const RankWishes& summed);
  void end_here();
  void conclude_step();
  void advance();
  void finish_when_done();
  void tell_events();
  // An event without a name does not occur in this kind of job.
  void publish(std::string_view event, const std::string& context = "{}");
  template <class Event>
  void publish(const std::string& context = "{}") {
    publish(options_.users.events->name_of<Event>(), context);
  }

  StepLoopOptions options_;
  Lifecycle<StepState> state_{StepState::starting, step_transitions};
  std::uint64_t current_ = 0;              // the step in work, or the next one
  int update_ = 0;                         // of that step
  std::optional<std::uint64_t> applying_;  // the step whose update has no answer yet, while the next one runs
  StepRequests requests_;
  std::set<int> signals_;  // that this rank has got and has to tell the others
  EndOfSteps end_;
  RankSaves saves_;
  ListenedTo listened_to_;
  std::int64_t step_begin_ns_ = 0;
  bool makes_up_ = false;  // for work that the run before owes; the step is the resumed one

 private:
  void begin_steps();
  void ask_for_batches();
  void begin(const LoadedBatch& batch);
  bool data_ends() const;
  bool is_followed();
  bool waits_for_trackers() const;
  void pass_on_end();
  void end_step();
  void go_on_after(std::uint64_t done);
  void tell_records();
  void record_step(std::int64_t now_ns);
  void write_trace_when_due();
  void take_snapshot_when_due();
  void tell_checkpoint_state();
  std::string state_of_rank_0() const;
  void require_commit_of(std::uint64_t step);
  void fall_asleep(std::uint64_t step);
  void wake_when_asleep();
  void arm_deadline(bool links_are_new = false);

  const Kind kind_;
  std::uint64_t first_step_ = 0;              // of this start
  std::uint64_t shown_ = 0;                   // the last step whose numbers the trackers have, if they say so
  std::uint64_t asked_for_ = 0, loaded_ = 0;  // the last step whose batch was asked for, and whose batch came
  std::deque<LoadedBatch> batches_;           // loaded ahead, in step order
  LoadedBatch computed_;                      // the batch in work, or of the step before
  StepTotals totals_;                         // of that batch
  std::uint64_t reductions_ = 0, tokens_total_;  // reductions asked for and tokens, so far
  FollowingActors actors_;
  std::uint32_t steps_track_ = 0;
  std::string metric_state_;          // of the checkpoint in flight
  std::vector<Announcement> events_;  // sent when no step is applying
  SleepOfRank sleep_;
};

}  // namespace d9d
