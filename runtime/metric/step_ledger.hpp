#pragma once
// Tracks which numbers of a run are still to come. The numbers of a step come when it ends; the
// task's metrics for it, which are reduced beside training, may come before or after them.

#include <cstdint>
#include <set>
#include <utility>

namespace d9d {

class StepLedger {
 public:
  // The steps up to the resumed one are complete.
  explicit StepLedger(std::uint64_t resumed_step) : finished_(resumed_step) {}

  // The numbers of `step` have come. Steps come in order.
  void finished(std::uint64_t step, bool metrics_follow);
  // The numbers of the evaluation after `step` have come; its metrics always follow.
  void evaluated(std::uint64_t step) { await({step, true}); }
  // The metrics of `step` have come, or those of the evaluation after it.
  void metrics(std::uint64_t step, bool evaluation = false);

  // Whether all numbers of `step` and of earlier steps are here.
  bool complete(std::uint64_t step) const;

 private:
  using Key = std::pair<std::uint64_t, bool>;  // step, and whether it is the evaluation after it
  void await(Key key);

  std::uint64_t finished_;
  std::set<Key> awaited_;  // finished without their metrics
  std::set<Key> early_;    // whose metrics came first
};

}  // namespace d9d
