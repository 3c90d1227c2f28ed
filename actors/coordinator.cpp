#include "actors/coordinator.hpp"

#include "actors/notes/failure_text.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/signal_name.hpp"
#include "runtime/base/log.hpp"
#include "runtime/resume/other_start.hpp"

namespace d9d {
namespace {

constexpr std::uint32_t first_epoch = 1;
constexpr std::chrono::seconds cause_timeout{1};  // from a broken connection to the news of a lost node
constexpr std::chrono::seconds say_that_it_waits{30};
constexpr std::chrono::seconds states_timeout{2};  // from a failure to the states of a checkpoint under way

// Adds to the text of a refused start the keys that differ, because they are often the reason.
std::string with_differences(const std::string& refusal, const ResumePoint& resume) {
  if (resume.differences.empty()) return refusal;
  return fmt::format("{}{} The checkpoint was written with other keys: {}", refusal,
                     refusal.ends_with('.') ? "" : ".", resume.differences);
}

}  // namespace

Coordinator::Coordinator(World& world, CoordinatorOptions options)
    : Actor(world),
      options_(std::move(options)),
      roster_(options_.world_size, {options_.build, options_.job_hash, options_.job_keys, options_.inputs}),
      saves_(options_.world_size) {}

void Coordinator::behavior(Handlers& handlers) {
  handlers.on_any_epoch(this, &Coordinator::join);
  handlers.on_any_epoch(this, &Coordinator::peer_down);
  handlers.on_any_epoch(this, &Coordinator::failed);
  handlers.on_any_epoch(this, &Coordinator::tick);
  handlers.on_any_epoch(this, &Coordinator::node_ready);
  handlers.on(this, &Coordinator::rank_finished);
  handlers.on(this, &Coordinator::events_heard);
  handlers.on(this, &Coordinator::shard_written);
  handlers.on(this, &Coordinator::checkpoint_state);
  handlers.on(this, &Coordinator::tracker_flushed);
  handlers.on(this, &Coordinator::model_exported);
  handlers.on(this, &Coordinator::trace_written);
  handlers.on_any_epoch(this, &Coordinator::signalled);
}

void Coordinator::started() {
  // Decided once, before anyone joins, and sent to all nodes, so that they all resume from the same step.
  resume_ = options_.find_resume_point();
  last_checkpoint_ = resume_.directory;
  set_timer(join_deadline, options_.join_timeout);
  set_timer(still_waiting, say_that_it_waits);
}

void Coordinator::set_timer(JobTimer timer, std::chrono::nanoseconds delay) {
  tell_self_after<wire::Tick>(delay, [timer, phase = JobPhase(phase_)](wire::Tick::Builder tick) {
    tick.setKind(timer);
    tick.setValue(static_cast<std::uint64_t>(phase));
  });
}

void Coordinator::join(wire::Join::Reader message) {
  const MailboxPtr mailbox = attached();
  D9D_CHECK(mailbox != nullptr, "a node joined without its mailbox");
  if (roster_.knows(message.getIncarnation())) return;
  if (const std::string reason = roster_.reason_to_refuse(message); !reason.empty()) {
    log::warn("refused node at {}: {}", std::string(message.getHost()), reason);
    roster_.note_refused(message.getHost(), reason);
    tell_via<wire::Refused>(mailbox, sender(),
                            [&](wire::Refused::Builder refused) { refused.setReason(reason); });
    return;
  }
  roster_.add(message, mailbox, sender());
  world().connections.admit(connection());
  // Node 0 is where the coordinator lives.
  if (roster_.members().size() > 1) host().watch(mailbox, roster_.members().back().number);
  if (roster_.full()) return form();
  log::info("waiting for nodes: {}", roster_.missing());
}

void Coordinator::form() {
  roster_.close();
  phase_.become(JobPhase::preparing);
  for (std::size_t node = 0; node < roster_.members().size(); ++node) {
    world().book.enter_node(static_cast<int>(node), roster_.members()[node].mailbox);
    welcome(node);
  }
}

void Coordinator::welcome(std::size_t node) {
  const std::vector<Member>& members = roster_.members();
  tell_via<wire::Welcome>(members[node].mailbox, members[node].id, [&](wire::Welcome::Builder welcome) {
    welcome.setEpoch(first_epoch);
    welcome.setNodeIndex(static_cast<std::uint32_t>(node));
    auto list = welcome.initNodes(static_cast<unsigned>(members.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setHost(members[i].host);
      list[i].setPort(members[i].port);
      list[i].setRanks(static_cast<std::uint32_t>(members[i].ranks));
      list[i].setHostNumber(members[i].host_number);
    }
    welcome.setResumeFrom(resume_.directory);
    welcome.setResumeStep(resume_.step);
    welcome.setResumeState(resume_.state);
    welcome.setResumeSample(resume_.next_sample);
    welcome.setTag(options_.tag);
    welcome.setSecret(options_.secret);
  });
}

void Coordinator::node_ready(wire::NodeReady::Reader message) {
  if (!nodes_ready_.insert(static_cast<int>(message.getNodeIndex())).second) return;
  entries_taken_ += message.getEntries();
  if (nodes_ready_.size() < roster_.members().size() || phase_ != JobPhase::preparing) return;
  if (entries_taken_ != resume_.entries) {
    return end_job(
        false,
        with_differences(
            fmt::format(
                "{} holds {} but the job's model and optimizer take {} of them: it was written with another "
                "model or optimizer. {}",
                resume_.directory, counted(resume_.entries, "tensor"), entries_taken_,
                ways_to_begin_anew(resume_.directory)),
            resume_),
        true);
  }
  if (!resume_.warning.empty()) log::warn("{}", resume_.warning);
  phase_.become(JobPhase::training);
  if (options_.on_training) options_.on_training(resume_.step);
  for (std::size_t node = 0; node < roster_.members().size(); ++node) {
    tell<wire::StartTraining>({Role::node, node}, [&](wire::StartTraining::Builder start) {
      start.setFirstStep(resume_.step + 1);
    });
  }
}

void Coordinator::tick(wire::Tick::Reader message) {
  const std::uint32_t timer = message.getKind();
  const bool same_phase = message.getValue() == static_cast<std::uint64_t>(JobPhase(phase_));
  if (timer == still_waiting) return same_phase ? say_who_is_missing() : void();
  if (timer == join_deadline) return same_phase ? give_up_gathering() : void();
  if (timer == stage_deadline) return same_phase ? give_up_on_stage() : void();
  if (timer == save_deadline) return give_up_on_save();
  if (timer == cause_deadline) return end_job(false, failure_);
  if (timer == leave_deadline) return leave();
  D9D_CHECK(false, "the Coordinator has no timer of kind {}", timer);
}

// Without these lines a waiting node 0 would look as if it trained.
void Coordinator::say_who_is_missing() {
  log::info("still waiting for nodes: {}", roster_.missing());
  set_timer(still_waiting, say_that_it_waits);
}

void Coordinator::give_up_gathering() {
  end_job(false,
          fmt::format("after {} s (node.join_timeout) {}. Start the missing d9d-node processes with "
                      "--join HOST:PORT of this node, or raise node.join_timeout on all nodes",
                      std::chrono::duration<double>(options_.join_timeout).count(), roster_.missing()));
}

// `nodeIndex` is here the number that the member got when it joined: indices change while nodes come and go.
void Coordinator::peer_down(wire::PeerDown::Reader message) {
  const auto index = roster_.index_of(static_cast<int>(message.getNodeIndex()));
  if (!index) return;
  const auto node = static_cast<std::uint32_t>(*index);
  const Member& member = roster_.members()[*index];
  if (phase_ >= JobPhase::rescuing) {
    staying_.erase(node);
    return leave_when_alone();
  }
  if (phase_ == JobPhase::gathering) {
    log::warn("node at {} is gone again: it {}", member.host, std::string(message.getReason()));
    return roster_.remove(*index);
  }
  gone_.insert(node);
  if (stop_signal_ != 0) {
    return end_job(false,
                   fmt::format("{}: node {} left before all was written", signal_name(stop_signal_), node),
                   false, exit_of_signal + stop_signal_);
  }
  end_job(false, and_next_start(fmt::format("node {} ({}) is gone: it {}.", node, member.host,
                                            std::string(message.getReason()))));
}

void Coordinator::failed(wire::Failed::Reader message) {
  if (held_) return;  // the first failure is the cause
  const bool input = message.getKind() == wire::Failed::Kind::INPUT;
  std::string text = input ? failure_text(message) : and_next_start(failure_text(message));
  if (message.getKind() == wire::Failed::Kind::ENVIRONMENT && roster_.members().size() > 1) {
    // An environment error is often a broken connection, the first sign of a lost node. PeerDown
    // is the better report.
    if (phase_ >= JobPhase::rescuing || !failure_.empty()) return;
    failure_ = std::move(text);
    return set_timer(cause_deadline, cause_timeout);
  }
  if (input && nodes_ready_.empty()) return end_job(false, with_differences(text, resume_), true);
  fail(message);
}

// The other actors of the job go on, so a checkpoint that is being written becomes whole: what it holds was copied
// before the failure. Those who write it are not waited for.
void Coordinator::fail(const wire::Failed::Reader& message) {
  const std::string actor = message.getActor();
  const bool writes = actor.starts_with("checkpoint_writer") || actor.starts_with("tracker");
  held_ = {failure_text(message), message.getKind() == wire::Failed::Kind::INPUT,
           saves_.newest().value_or(0)};
  if (phase_ != JobPhase::training || writes || !saves_.newest()) return end_job(false, held_reason());
  log::warn("{} The job ends when its checkpoint of step {} is written", held_->cause, held_->step);
  set_timer(save_deadline, states_timeout);
}

std::string Coordinator::held_reason() const {
  return held_->is_input ? held_->cause : and_next_start(held_->cause);
}

// A rank that has not copied its state by now may be the one that failed.
void Coordinator::give_up_on_save() {
  if (held_ && !saves_.has_all_states(held_->step)) end_job(false, held_reason());
}

// Adds what a new start will do. Before training nothing was lost, so there is nothing to add.
std::string Coordinator::and_next_start(const std::string& cause) const {
  if (nodes_ready_.size() < roster_.members().size()) return cause;
  return cause + " " + next_start_text(last_checkpoint_);
}

// The signal came to any node. In training the ranks agree on the last step among themselves, and their
// RankFinished follow; this handler ends the job in all other cases.
void Coordinator::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  if (stop_signal_ == 0) stop_signal_ = signal;
  if (phase_ >= JobPhase::rescuing || (phase_ >= JobPhase::training && !message.getNow())) return;
  end_job(false,
          message.getNow() ? fmt::format("a second {} at node {}; what was not written is lost",
                                         signal_name(signal), message.getNodeIndex())
                           : fmt::format("{} at node {} before training began", signal_name(signal),
                                         message.getNodeIndex()),
          false, exit_of_signal + stop_signal_);
}

void Coordinator::publish(const std::string& event, std::uint64_t step, const std::string& context) {
  tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder message) {
    message.setName(event);
    message.setStep(step);
    message.setContext(context);
  });
}

}  // namespace d9d
