#include "runtime/metric/step_ledger.hpp"

#include <algorithm>

namespace d9d {

void StepLedger::finished(std::uint64_t step, bool metrics_follow) {
  finished_ = std::max(finished_, step);
  if (metrics_follow && early_.erase(step) == 0) awaited_.insert(step);
}

void StepLedger::metrics(std::uint64_t step) {
  if (awaited_.erase(step) == 0) early_.insert(step);
}

bool StepLedger::complete(std::uint64_t step) const {
  return finished_ >= step && (awaited_.empty() || *awaited_.begin() > step);
}

}  // namespace d9d
