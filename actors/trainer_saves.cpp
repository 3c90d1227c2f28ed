// The Trainer's checkpoints: at most one is being written.
#include <string_view>
#include <utility>

#include "actors/trainer.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

void Trainer::take_snapshot() {
  const std::uint64_t step = snapshot_wanted_->step;
  requests_.taken({step, snapshot_wanted_->skipped});
  snapshot_in_flight_ = std::exchange(snapshot_wanted_, std::nullopt);
  tell<wire::Snapshot>({Role::rank_executor, self().index}, [&](wire::Snapshot::Builder snapshot) {
    snapshot.setStep(step);
    snapshot.setDirectory(options_.temporary_checkpoint_dir(step));
  });
  tell_self_after<wire::Tick>(options_.checkpoint_timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(checkpoint_deadline);
    tick.setValue(step);
  });
}

void Trainer::metric_state(wire::MetricState::Reader message) {
  D9D_CHECK(snapshot_in_flight_ && snapshot_in_flight_->step == message.getStep(),
            "metric state of step {} came without a snapshot of it", message.getStep());
  const std::string metrics = message.getState();
  const std::string task = options_.rank == 0 ? options_.task_state() : "{}";
  tell<wire::CheckpointState>({Role::coordinator, 0}, [&](wire::CheckpointState::Builder state) {
    state.setStep(message.getStep());
    state.setRank(options_.rank);
    state.setNextSample(snapshot_in_flight_->next_sample);
    const auto loss = evaluation_ ? evaluation_->loss_after(message.getStep()) : std::nullopt;
    state.setState(fmt::format(
        R"({{"metrics":{},"task":{},"tokens_total":{},"skipped_steps":{}{}{}}})", metrics, task,
        snapshot_in_flight_->tokens_total, snapshot_in_flight_->skipped,
        requests_.roll_backs() > 0 ? fmt::format(R"(,"roll_backs":{})", requests_.roll_backs()) : "",
        loss ? fmt::format(R"(,"evaluation_loss":{})", *loss) : ""));
  });
}

void Trainer::checkpoint_committed(wire::CheckpointCommitted::Reader message) {
  if (!snapshot_in_flight_ || snapshot_in_flight_->step != message.getStep()) return;
  snapshot_in_flight_.reset();
  if (std::string_view(message.getFailure().cStr()).empty()) requests_.committed(message.getStep());
  if (snapshot_wanted_ && phase_ != Phase::sleeping) take_snapshot();
  finish_when_done();
  advance();
}

void Trainer::require_commit_of(std::uint64_t step) const {
  if (!snapshot_in_flight_ || snapshot_in_flight_->step != step) return;
  throw Error(
      ErrorKind::environment,
      fmt::format(
          "the checkpoint of step {} was not committed within {} s "
          "(trainer.timeout.checkpoint_timeout): {} is still being written. Raise the deadline if the "
          "disk is really that slow",
          step, std::chrono::duration_cast<std::chrono::seconds>(options_.checkpoint_timeout).count(),
          options_.temporary_checkpoint_dir(step)));
}

}  // namespace d9d
