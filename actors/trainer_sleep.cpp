// The Trainer's sleep between two steps, without memory and without links to other ranks. SIGTSTP at any
// rank puts all ranks to sleep after the same step, SIGCONT at any rank wakes them all.
#include <csignal>

#include "actors/trainer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

// A signal goes into the next step's sums, so the step in work is finished first. A sleeping job has no
// next step, so the rank that must wake or stop sends Wake to all ranks.
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
  sleep_.awaited = 2;  // from the RankExecutor, and from the MetricCollector after it
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
  if (std::exchange(sleep_.is_linked, false)) {  // no actor of this rank uses the links now
    sleep_.awaited = options_.links.size();
    for (const ActorId link : options_.links)
      tell<wire::Sleep>(link, [&](wire::Sleep::Builder sleep) { sleep.setStep(sleep_.after); });
    return;
  }
  sleep_.is_deep = true;
  publish("train.sleep.post", fmt::format(R"({{"bytes":{}}})", sleep_.bytes));
  if (options_.rank == 0) {
    log::info(
        "asleep after step {}: rank 0 has given {:.1f} MiB back; the bytes are on the disk in an "
        "unnamed file ({}); SIGCONT wakes the job",
        sleep_.after, static_cast<double>(sleep_.bytes) / (1 << 20), options_.sleep_file);
  }
  wake_when_asleep();
}

// May come from a rank that is asleep already, while this one is not.
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

// Links are opened first, then the memory is restored.
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
