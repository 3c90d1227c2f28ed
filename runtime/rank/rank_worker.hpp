#pragma once
// All tensor work of one rank: passes through its pipeline stages, the update that ends a step, and the state
// between two steps. The RankExecutor calls it on its own thread only. CollectiveWorkers share the gradient
// buckets (rank_gradients.hpp). RankPass::run() calls the BucketObserver (step_observer.hpp) with which the
// worker was made. No torch in this header.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/work_log.hpp"
#include "runtime/pipeline/order/step_programs.hpp"
#include "runtime/rank/pass/rank_pass.hpp"

namespace d9d {

// The result of a rank's gradient hooks: its share of the norm, and whether a hook refuses the update.
struct HookedGradients {
  double norm_share = 0;
  bool skip = false;
};

// What follows a pass that trains, in this order.
class RankUpdate {
 public:
  virtual ~RankUpdate() = default;
  // In a job with hooks: divides the gradients by `weight` and calls the hooks with those of this update of the step.
  virtual HookedGradients hook_gradients(std::uint64_t step, int update, double loss, double weight) = 0;
  // Adds watched tensors to the metrics, before they are taken. The scale makes gradients of the mean loss of those at
  // hand (StepScale::mean).
  virtual void watch_tensors(double gradient_scale) = 0;
  // Scales the gradients, updates the parameters that this update of the step moves, clears the gradients.
  // `lr_multiplier`: of base rates.
  virtual void apply(double gradient_scale, double lr_multiplier, int update) = 0;
  // Clears the gradients, in place of apply(). Parameters, optimizer state and update count stay.
  virtual void skip() = 0;
};

struct RankSnapshot {
  Ticket shard;  // a ShardParcel: this rank's part of a checkpoint, copied to the host; empty if it has none
  std::string metrics;  // JSON (Compose::to_json); they are not started anew
};

// Parameters, optimizer state, buffers and metrics, between two steps.
class RankState {
 public:
  virtual ~RankState() = default;
  virtual RankSnapshot snapshot() = 0;
  // Call it before other code writes to the state: later work on the device waits for a snapshot's copies.
  virtual void let_change() = 0;
  // Loads a committed checkpoint. `skipped`: how often each update of its steps was not made.
  virtual void restore(const std::string& checkpoint, const std::vector<std::uint64_t>& skipped) = 0;
  // Writes parameters and optimizer state to a new file, frees their memory and that of the gradients, and
  // returns the freed bytes. Call it after the update. Only wake() may be called afterwards.
  virtual std::uint64_t sleep(const std::string& file) = 0;
  // Restores everything to the bit.
  virtual void wake() = 0;
};

struct PreparedRank {
  std::uint64_t entries_loaded = 0;  // of the resumed checkpoint's tensors, those that this rank answers for
  // The reduce group of each bucket (index into the rank's list of collectives); -1: it needs no reduction.
  std::vector<int> bucket_groups = {};
};

class RankWorker {
 public:
  virtual ~RankWorker() = default;
  // Builds the model and initialises or loads its state. Slow. Called on the RankExecutor's thread, before
  // passes, update and state.
  virtual PreparedRank prepare() = 0;
  virtual RankPass& pass(RankPass::Kind kind) = 0;
  virtual RankUpdate& update() = 0;
  virtual RankState& state() = 0;
  // Chooses the program of each step. Report the times of actions and transfers to it, for schedule `auto`.
  virtual StepPrograms& programs() = 0;
  // The device that computes, and the log of its times. Null on the CPU.
  virtual Device* late_device() { return nullptr; }
  virtual WorkLog* work_log() { return nullptr; }
};

}  // namespace d9d
