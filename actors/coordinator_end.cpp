#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/coordinator.hpp"
#include "actors/notes/stop_report.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/signal_name.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"

// The end of a job: the stages in their order, then all nodes stop. Node 0 stops last.
namespace d9d {
namespace {

constexpr std::chrono::seconds leave_timeout{5};
constexpr std::chrono::milliseconds rescue_timeout{3000};  // spans of a failed job; within leave_timeout
constexpr std::chrono::seconds leave_now{1};               // a second signal came

}  // namespace

struct Coordinator::Stage {
  JobPhase phase;
  bool (Coordinator::*begin)();  // false: there is no answer to wait for
  std::chrono::seconds patience{};
  const char* late = nullptr;  // null: the job fails without the answer
};

// A job may be over before its own actors have handled the first step, and the run's numbers must have what they show.
// Metrics are reduced beside training: those of the last steps may still be on their way to the tracker.
const Coordinator::Stage Coordinator::stages[] = {
    {JobPhase::telling_events, &Coordinator::tell_events, std::chrono::seconds(10),
     "own actors have not handled the events up to the last step, and what they show is lost"},
    {JobPhase::saving_metrics, &Coordinator::flush_tracker, std::chrono::seconds(20),
     "the last metrics have not come, and metrics.jsonl lacks them"},
    {JobPhase::exporting, &Coordinator::export_model},
    {JobPhase::tracing, &Coordinator::flush_traces, std::chrono::seconds(20),
     "not all nodes have handed in their spans, and the trace is left out"}};

// Begins the next stage that has to wait for something. After the last one the job is concluded.
void Coordinator::next_stage() {
  for (const auto& [phase, begin, patience, late] : stages) {
    if (phase_ >= phase) continue;
    phase_.become(phase);
    if ((this->*begin)()) return set_timer(stage_deadline, late ? patience : options_.export_timeout);
  }
  conclude_job();
}

void Coordinator::give_up_on_stage() {
  const Stage& stage = *std::ranges::find(stages, JobPhase(phase_), &Stage::phase);
  if (stage.late == nullptr) return give_up_on_export();
  log::warn("after {} s {}", stage.patience.count(), stage.late);
  next_stage();
}

void Coordinator::rank_finished(wire::RankFinished::Reader message) {
  ranks_finished_.insert(message.getRank());
  if (message.getStep() > resume_.step) trained_ = true;
  if (message.getSignal() != 0) {
    stop_signal_ = static_cast<int>(message.getSignal());
    stop_step_ = message.getStep();
  }
  if (message.getEnded().size() > 0) ended_ = message.getEnded().cStr();
  if (static_cast<int>(ranks_finished_.size()) < options_.world_size) return;
  if (phase_ >= JobPhase::telling_events) return;
  if (held_) return end_job(false, held_reason());
  last_step_ = message.getStep();
  next_stage();
}

bool Coordinator::tell_events() {
  if (options_.own_actors == 0) return false;
  tell<wire::FlushEvents>({Role::event_bus, 0}, [&](wire::FlushEvents::Builder flush) {
    flush.setActors(static_cast<std::uint32_t>(options_.own_actors));
  });
  return true;
}

void Coordinator::events_heard(wire::EventsHeard::Reader message) {
  events_heard_.insert(static_cast<int>(message.getActor()));
  if (phase_ == JobPhase::telling_events && events_heard_.size() == options_.own_actors) next_stage();
}

bool Coordinator::flush_tracker() {
  tell<wire::FlushTracker>({Role::tracker, 0},
                           [&](wire::FlushTracker::Builder ask) { ask.setStep(last_step_); });
  return true;
}

bool Coordinator::export_model() {
  if (options_.export_to.empty()) return false;
  if (stop_signal_ != 0) {
    log::info("the export to {} is left out", options_.export_to);
    return false;
  }
  if (last_checkpoint_.empty()) {
    end_job(false, fmt::format("cannot export to {}: no checkpoint was committed", options_.export_to));
    return false;
  }
  try {
    export_.checkpoint = options_.choose_export ? options_.choose_export(last_checkpoint_) : last_checkpoint_;
    if (options_.begin_export) {
      export_.folder = options_.begin_export();
      export_.shares = static_cast<std::uint32_t>(roster_.members().size());
    }
  } catch (const Error& error) {
    fail_export(error.what());
    return false;
  }
  for (std::uint32_t share = 0; share < export_.shares; ++share) {
    export_.open.insert(share);
    tell_to_export(share, share);
  }
  return true;
}

void Coordinator::tell_to_export(std::uint32_t share, std::uint32_t node) {
  tell<wire::ExportModel>({Role::checkpoint_writer, node}, [&](wire::ExportModel::Builder message) {
    message.setCheckpoint(export_.checkpoint);
    message.setTarget(export_.folder);
    message.setShare(share);
    message.setShares(export_.shares);
  });
}

void Coordinator::model_exported(wire::ModelExported::Reader message) {
  if (phase_ != JobPhase::exporting) return;  // too late: the deadline has failed the job
  const std::uint32_t share = message.getShare();
  if (!export_.open.contains(share)) return;
  if (message.getUnseen() && share != 0) {
    log::warn("node {} does not see {}: node 0 writes its share of the export", share, options_.export_to);
    return tell_to_export(share, 0);
  }
  const std::string failure = message.getFailure();
  if (export_.failure.empty()) export_.failure = failure;
  export_.open.erase(share);
  if (!export_.open.empty()) return;
  if (!export_.failure.empty()) return fail_export(export_.failure);
  publish_model();
}

void Coordinator::fail_export(const std::string& failure) {
  if (options_.discard_export) options_.discard_export();
  end_job(false, fmt::format("export to {} failed: {}", options_.export_to, failure));
}

void Coordinator::publish_model() {
  try {
    if (options_.publish_export) options_.publish_export();
  } catch (const Error& error) {
    return fail_export(error.what());
  }
  if (export_.checkpoint == last_checkpoint_) {
    log::info("exported the model to {}", options_.export_to);
  } else {
    log::info("exported the model of {} to {}", export_.checkpoint, options_.export_to);
  }
  publish("train.exported", 0, shown_json(nlohmann::json{{"target", options_.export_to}}));
  next_stage();
}

void Coordinator::give_up_on_export() {
  end_job(false,
          fmt::format("the export to {0} did not end within {1} s (trainer.timeout.export_timeout): the "
                      "disk is slow or hangs. The model is in the checkpoint: d9d-node export {2} {0}",
                      options_.export_to,
                      std::chrono::duration_cast<std::chrono::seconds>(options_.export_timeout).count(),
                      export_.checkpoint));
}

bool Coordinator::flush_traces() {
  // A start that found nothing left to train has nothing to show.
  if (!options_.trace || !trained_) return false;
  ask_for_spans({});
  return true;
}

// The nodes that are left hand in their spans. With a deadline node 0 writes those that have come in time.
void Coordinator::ask_for_spans(std::chrono::milliseconds deadline) {
  for (std::uint32_t node = 0; node < roster_.members().size(); ++node) {
    if (gone_.contains(node)) continue;
    tell<wire::FlushTrace>({Role::trace_collector, node}, [&](wire::FlushTrace::Builder flush) {
      flush.setNodes(static_cast<std::uint32_t>(roster_.members().size() - gone_.size()));
      flush.setFromStep(-1);
      flush.setDeadlineMs(static_cast<std::uint32_t>(deadline.count()));
    });
  }
}

void Coordinator::trace_written(wire::TraceWritten::Reader message) {
  const std::string failure = message.getFailure();
  if (!failure.empty()) log::warn("the trace was not written: {}", failure);
  if (phase_ < JobPhase::rescuing) return next_stage();
  if (phase_ == JobPhase::rescuing) phase_.become(JobPhase::ending);
  leave_when_alone();
}

// A job that was not stopped is done only if its last checkpoint is on disk; otherwise it has failed.
void Coordinator::conclude_job() {
  if (stop_signal_ != 0) {
    return end_job(true, report_of_stop({stop_signal_, stop_step_, last_checkpoint_, unsaved_}), false,
                   exit_of_signal + stop_signal_);
  }
  if (unsaved_.empty())
    return end_job(true,
                   ended_.empty() ? "done" : fmt::format("ended after step {} by {}", last_step_, ended_));
  end_job(false, fmt::format("training is over, but its last checkpoint could not be written ({}); {}. Start "
                             "the job again when that is mended: it goes on from there",
                             unsaved_,
                             last_checkpoint_.empty() ? std::string("there is none")
                                                      : "the last one is " + last_checkpoint_));
}

void Coordinator::end_job(bool ok, const std::string& given, bool input_error, int exit_code) {
  if (phase_ >= JobPhase::rescuing) return;
  // What comes while a failure is held may follow from it.
  const std::string reason = held_ && exit_code == 0 ? held_reason() : given;
  const bool began = phase_ >= JobPhase::training;
  const bool rescues = began && phase_ < JobPhase::tracing && !ok && exit_code == 0 && options_.trace;
  phase_.become(rescues ? JobPhase::rescuing : JobPhase::ending);
  world().ending = true;
  ending_ = {!ok, reason, input_error, exit_code};
  if (began && options_.on_end) options_.on_end(!ok, std::max(0, exit_code - exit_of_signal), reason);
  if (ok && exit_code != 0) log::info("{}", reason);
  if (!ok) {
    const log::Place nowhere("");  // the reason says where
    log::error("{}", reason);
    if (roster_.closed()) publish("job.failed", 0, shown_json(nlohmann::json{{"reason", reason}}));
    // A trace is needed most when a job has failed; nodes that are gone or hang do not answer.
    if (rescues) ask_for_spans(rescue_timeout);
  }
  for (std::uint32_t node = 1; node < roster_.members().size(); ++node) {
    if (gone_.contains(node)) continue;
    staying_.insert(node);
    tell_to_stop(roster_.members()[node].mailbox,
                 roster_.closed() ? ActorId{Role::node, node} : roster_.members()[node].id);
  }
  if (staying_.empty() && !rescues) return leave();
  set_timer(leave_deadline, !ok && exit_code != 0 ? leave_now : leave_timeout);
}

void Coordinator::leave_when_alone() {
  if (staying_.empty() && phase_ == JobPhase::ending) leave();
}

// Node 0's process ends last, because messages on their way to the others would be lost with it.
void Coordinator::leave() {
  if (phase_ == JobPhase::left) return;
  phase_.become(JobPhase::left);
  tell<wire::StopNode>(parent(), [&](wire::StopNode::Builder stop) { ending_.write(stop); });
}

void Coordinator::tell_to_stop(const MailboxPtr& mailbox, ActorId node) {
  tell_via<wire::StopNode>(mailbox, node, [&](wire::StopNode::Builder stop) { ending_.write(stop); });
}

void Coordinator::Ending::write(wire::StopNode::Builder stop) const {
  stop.setFailed(failed);
  stop.setReason(reason);
  stop.setInputError(input_error);
  stop.setExitCode(static_cast<std::uint32_t>(exit_code));
}

}  // namespace d9d
