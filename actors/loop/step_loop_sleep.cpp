// The sleep of a rank between two steps, without memory and without links to other ranks. SIGTSTP at any
// rank puts all ranks to sleep after the same step, SIGCONT at any rank wakes them all.
#include "actors/loop/step_loop.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

void StepLoop::fall_asleep(std::uint64_t step) {
  state_.become(StepState::freeing_memory);
  sleep_.after = step;
  sleep_.bytes = 0;
  sleep_.awaited = 2;  // from the RankExecutor, and from the MetricCollector after it
  publish<events::SleepPre>();
  tell<wire::Sleep>({Role::rank_executor, self().index}, [&](wire::Sleep::Builder sleep) {
    sleep.setStep(step);
    sleep.setFile(options_.sleep.file);
  });
}

void StepLoop::slept(wire::Slept::Reader message) {
  const bool frees = state_ == StepState::freeing_memory;
  D9D_CHECK(frees || state_ == StepState::closing_links, "a rank sleeps that is {}", name_of(state_));
  sleep_.bytes += message.getBytes();
  if (--sleep_.awaited > 0) return;
  if (frees) {  // no actor of this rank uses the links now
    state_.become(StepState::closing_links);
    sleep_.awaited = options_.sleep.links.size();
    for (const ActorId link : options_.sleep.links)
      tell<wire::Sleep>(link, [&](wire::Sleep::Builder sleep) { sleep.setStep(sleep_.after); });
    return;
  }
  state_.become(StepState::asleep);
  publish<events::SleepPost>(fmt::format(R"({{"bytes":{}}})", sleep_.bytes));
  if (options_.rank == 0) {
    log::info(
        "asleep after step {}: rank 0 has given {:.1f} MiB back; the bytes are on the disk in an "
        "unnamed file ({}); SIGCONT wakes the job",
        sleep_.after, static_cast<double>(sleep_.bytes) / (1 << 20), options_.sleep.file);
  }
  wake_when_asleep();
}

// May come from a rank that is asleep already, while this one is not.
void StepLoop::wake(wire::Wake::Reader message) {
  sleep_.call = std::max(sleep_.call.value_or(0), message.getStep());
  wake_when_asleep();
}

void StepLoop::wake_when_asleep() {
  if (state_ != StepState::asleep || sleep_.call != sleep_.after) return;
  state_.become(StepState::opening_links);
  publish<events::WakePre>();
  sleep_.awaited = options_.sleep.links.size();
  for (const ActorId link : options_.sleep.links)
    tell<wire::Wake>(link, [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
}

// Links are opened first, then the memory is restored.
void StepLoop::awake(wire::Awake::Reader message) {
  D9D_CHECK(is_asleep(state_) && message.getStep() == sleep_.after, "a rank wakes that is {}",
            name_of(state_));
  if (state_ == StepState::opening_links) {
    if (--sleep_.awaited > 0) return;
    state_.become(StepState::taking_memory);
    tell<wire::Wake>({Role::rank_executor, self().index},
                     [&](wire::Wake::Builder wake) { wake.setStep(sleep_.after); });
    return;
  }
  state_.become(StepState::waiting);
  publish<events::WakePost>();
  if (options_.rank == 0) log::info("awake after step {}", sleep_.after);
  step_begin_ns_ = world().clock.now_ns();  // the next step's time does not count it
  take_snapshot_when_due();
  arm_deadline(/*links_are_new=*/true);
  advance();
}

}  // namespace d9d
