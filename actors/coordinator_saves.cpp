#include <exception>
#include <nlohmann/json.hpp>

#include "actors/coordinator.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/disk/disk_error.hpp"

// Checkpoints: each rank's part, the tracker's, then one commit.
namespace d9d {

void Coordinator::shard_written(wire::ShardWritten::Reader message) {
  saves_.shard(message.getStep(), message.getReport(), message.getFailure());
  commit_when_complete(message.getStep());
}

void Coordinator::checkpoint_state(wire::CheckpointState::Reader message) {
  if (message.getAmends()) return amend_checkpoint(message.getStep(), message.getState());
  const bool first = saves_.rank_state(message.getStep(), static_cast<int>(message.getRank()),
                                       message.getNextSample(), message.getState());
  if (first) {
    tell<wire::FlushTracker>({Role::tracker, 0},
                             [&](wire::FlushTracker::Builder ask) { ask.setStep(message.getStep()); });
  }
  commit_when_complete(message.getStep());
}

void Coordinator::amend_checkpoint(std::uint64_t step, const std::string& state) {
  try {
    options_.amend(step, state);
  } catch (const std::exception& error) {  // a damaged manifest may lack what the patch changes
    log::warn(
        "the evaluation after step {} is not in its checkpoint, and the next start from there makes it "
        "again: {}",
        step, error.what());
  }
}

void Coordinator::tracker_flushed(wire::TrackerFlushed::Reader message) {
  // No checkpoint is being written any more when all ranks have finished.
  if (phase_ == JobPhase::saving_metrics) return next_stage();
  saves_.tracker(message.getStep());
  commit_when_complete(message.getStep());
}

void Coordinator::commit_when_complete(std::uint64_t step) {
  if (!saves_.complete(step)) return;
  const PendingSaves::Save save = saves_.take(step);
  if (!save.failure.empty()) return conclude_save(step, {}, save.failure);
  try {
    last_checkpoint_ = options_.commit(save.parts);
    conclude_save(step, last_checkpoint_, {});
  } catch (const Error& error) {
    conclude_save(step, {}, error.what());
  }
}

void Coordinator::conclude_save(std::uint64_t step, const std::string& directory,
                                const std::string& failure) {
  unsaved_ = failure.empty() ? std::string() : fmt::format("step {}: {}", step, failure);
  if (!failure.empty()) {
    log::warn("the checkpoint of step {} was given up, the one before stays the last: {}", step, failure);
    try {
      options_.discard(step);
    } catch (const Error& error) {
      log::warn("what was written of it stays until the next start: {}", error.what());
    }
    if (says_disk_is_full(failure) && options_.make_room) options_.make_room();
  }
  publish(options_.events + (failure.empty() ? ".checkpoint.committed" : ".checkpoint.failed"), step,
          shown_json(nlohmann::json{{"directory", directory}, {"failure", failure}}));
  for (int rank = 0; rank < options_.world_size; ++rank) {
    tell<wire::CheckpointCommitted>({Role::trainer, static_cast<std::uint64_t>(rank)},
                                    [&](wire::CheckpointCommitted::Builder committed) {
                                      committed.setStep(step);
                                      committed.setDirectory(directory);
                                      committed.setFailure(failure);
                                    });
  }
  if (held_ && step >= held_->step) end_job(false, held_reason());
}

}  // namespace d9d
