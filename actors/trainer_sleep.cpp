// The Trainer between two steps without memory and without links to other ranks: SIGTSTP of any rank puts all of them to
// sleep after the same step, SIGCONT of any rank wakes all of them.
#include <csignal>

#include "actors/trainer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

// Into the next step's sums: a step in work is finished. A job asleep has no next step: the rank that is told to wake
// or to stop tells all ranks.
void Trainer::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  const bool asleep = phase_ == Phase::sleeping;
  const bool wakes_up = !sleep_.is_deep && sleep_.call == sleep_.after;
  if (!asleep || signal != SIGTSTP || wakes_up) wishes_.add(signal);
  if (!asleep || signal == SIGUSR1 || signal == SIGTSTP) return;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    tell<wire::Wake>({Role::trainer, static_cast<std::uint64_t>(rank)},
                     [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
  }
}

void Trainer::fall_asleep(std::uint64_t step) {
  phase_ = Phase::sleeping;
  sleep_.after = step;
  sleep_.bytes = 0;
  sleep_.awaited = 2;  // of the RankExecutor, and of the MetricCollector behind it
  publish("train.sleep.pre");
  tell<wire::Sleep>({Role::rank_executor, self().index}, [&](wire::Sleep::Builder sleep) {
    sleep.setStep(step);
    sleep.setFile(options_.sleep_file);
  });
}

void Trainer::slept(wire::Slept::Reader message) {
  D9D_CHECK(phase_ == Phase::sleeping && sleep_.awaited > 0, "a rank sleeps that is {}", name_of(phase_));
  sleep_.bytes += message.getBytes();
  if (--sleep_.awaited > 0) return;
  if (std::exchange(sleep_.is_linked, false)) {  // nobody of this rank needs them now
    sleep_.awaited = options_.links.size();
    for (const ActorId link : options_.links)
      tell<wire::Sleep>(link, [&](wire::Sleep::Builder sleep) { sleep.setStep(sleep_.after); });
    return;
  }
  sleep_.is_deep = true;
  publish("train.sleep.post", fmt::format(R"({{"bytes":{}}})", sleep_.bytes));
  if (options_.rank == 0) {
    log::info(
        "asleep after step {}: rank 0 has handed {:.1f} MiB back, which wait on the disk in a file without a "
        "name "
        "({}); SIGCONT wakes the job",
        sleep_.after, static_cast<double>(sleep_.bytes) / (1 << 20), options_.sleep_file);
  }
  wake_when_asleep();
}

// Maybe of a rank that is asleep already, when this one is not.
void Trainer::wake(wire::Wake::Reader message) {
  sleep_.call = std::max(sleep_.call.value_or(0), message.getStep());
  wake_when_asleep();
}

void Trainer::wake_when_asleep() {
  if (phase_ != Phase::sleeping || !sleep_.is_deep || sleep_.call != sleep_.after) return;
  sleep_.is_deep = false;
  publish("train.wake.pre");
  sleep_.awaited = options_.links.size();
  for (const ActorId link : options_.links)
    tell<wire::Wake>(link, [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
}

// Links first, then the memory.
void Trainer::awake(wire::Awake::Reader message) {
  D9D_CHECK(phase_ == Phase::sleeping && message.getStep() == sleep_.after, "a rank wakes that is {}",
            name_of(phase_));
  if (!sleep_.is_linked) {
    if (--sleep_.awaited > 0) return;
    sleep_.is_linked = true;
    tell<wire::Wake>({Role::rank_executor, self().index},
                     [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
    return;
  }
  phase_ = Phase::waiting;
  publish("train.wake.post");
  if (options_.rank == 0) log::info("awake after step {}", sleep_.after);
  step_begin_ns_ = world().clock.now_ns();  // the next step's time does not count it
  if (snapshot_wanted_ && !snapshot_in_flight_) take_snapshot();
  arm_deadline(/*links_are_new=*/true);
  advance();
}

}  // namespace d9d
