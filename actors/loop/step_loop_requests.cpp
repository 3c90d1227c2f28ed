// What signals and actors ask of a StepLoop. Each rank adds what it was asked to the sums of a step; all ranks obey
// the sums, so they do the same after the same step.
#include <algorithm>
#include <csignal>
#include <utility>

#include "actors/loop/step_loop.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

// A signal goes into the next step's sums, so the step in work is finished first. A sleeping job has no
// next step, so the rank that must wake or stop sends Wake to all ranks.
void StepLoop::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  const bool asleep = is_asleep(state_);
  const bool wakes_up = state_ != StepState::asleep && sleep_.call == sleep_.after;
  if (!asleep || signal != SIGTSTP || wakes_up) signals_.insert(signal);
  if (!asleep || signal == SIGUSR1 || signal == SIGTSTP) return;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    tell<wire::Wake>({Role::trainer, static_cast<std::uint64_t>(rank)},
                     [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
  }
}

void StepLoop::end_job(wire::EndJob::Reader message) {
  D9D_CHECK(options_.rank == 0, "rank {} was asked to end the job; ask rank 0", options_.rank);
  const auto index = static_cast<std::size_t>(sender().index);
  const bool is_own = sender().role == Role::user && index < options_.users.actor_names.size();
  const std::string reason = message.getReason();
  if (sender().role == Role::trainer) return requests_.end(reason);  // of a callback, which it names
  requests_.end(
      fmt::format("{}: {}", is_own ? options_.users.actor_names[index] : to_string(sender()), reason));
}

// What callbacks of this rank have asked. Rank 0 alone asks all ranks.
void StepLoop::pass_on_end() {
  const std::string reason = options_.users.events->take_end();
  if (reason.empty()) return;
  if (options_.rank == 0) return requests_.end(reason);
  tell<wire::EndJob>({Role::trainer, 0}, [&](wire::EndJob::Builder end) { end.setReason(reason); });
}

void StepLoop::events_followed(wire::EventsFollowed::Reader message) {
  const auto known = actors_.deciding.find(sender());
  if (known == actors_.deciding.end()) return;
  known->second = std::max(known->second, message.getEvents());
  reduce_when_followed();
}

// True when all deciding actors have followed the events so far, so their requests are here. An actor that
// has finished is not waited for.
bool StepLoop::is_followed() {
  if (options_.rank != 0 || options_.users.actor_names.empty()) return true;
  if (!listened_to_.names || applying_) return false;
  return std::all_of(actors_.deciding.begin(), actors_.deciding.end(), [&](const auto& actor) {
    return actor.second >= actors_.told || !world().book.find_local(actor.first);
  });
}

void StepLoop::step_shown(wire::StepShown::Reader message) {
  shown_ = std::max(shown_, message.getStep());
  reduce_when_followed();
}

bool StepLoop::waits_for_trackers() const {
  return options_.shown.max_pending_steps && state_ == StepState::following &&
         shown_ + *options_.shown.max_pending_steps < current_;
}

// Does what all ranks have agreed on. With the sums of an evaluation only signals travel.
void StepLoop::obey(const RankWishes& summed) {
  if (const int signal = stop_signal_of(summed); signal != 0) {
    end_.signal = signal;
    end_.step = current_;
    saves_.ask();
  }
  if (summed.saves > 0) saves_.ask();
  sleep_.due = sleep_.due || summed.sleeps > 0;
  if (summed.saves > 0 && !options_.saves.on && options_.rank == 0) {
    log::warn("SIGUSR1: checkpointing is off, nothing was saved; set trainer.checkpointing.period_steps");
  }
  if (is_evaluating(state_)) return;
  requests_.agree(summed);
  if (!requests_.ends()) return;
  if (options_.rank == 0) requests_.end(stream_ended);  // of another rank, unless an actor has asked
  end_here();
}

// Makes this step the job's last one. An evaluation or texts that are due with it still run.
void StepLoop::end_here() {
  if (std::exchange(end_.asked, true)) return;
  end_.step = current_;
  saves_.ask();
  if (options_.rank == 0) log::info("the job ends after step {}: {}", current_, requests_.why_it_ends());
}

}  // namespace d9d
