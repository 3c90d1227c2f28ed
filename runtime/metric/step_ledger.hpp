#pragma once
// Which numbers of a run are still on their way. Those of a step come when it ends, the task's metrics of it later,
// reduced beside training; nothing keeps the two in order.

#include <cstdint>
#include <set>

namespace d9d {

class StepLedger {
 public:
  // The steps up to the resumed one are complete.
  explicit StepLedger(std::uint64_t resumed_step) : finished_(resumed_step) {}

  // The numbers of `step` have come. Steps come in order.
  void finished(std::uint64_t step, bool metrics_follow);
  // The metrics of `step` have come.
  void metrics(std::uint64_t step);

  // Everything of `step` and of all before it is here.
  bool complete(std::uint64_t step) const;

 private:
  std::uint64_t finished_;
  std::set<std::uint64_t> awaited_;  // finished steps without their metrics
  std::set<std::uint64_t> early_;    // steps whose metrics came first
};

}  // namespace d9d
