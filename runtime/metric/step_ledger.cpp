#include "runtime/metric/step_ledger.hpp"

#include <algorithm>

namespace d9d {

void StepLedger::finished(std::uint64_t step, bool metrics_follow) {
  finished_ = std::max(finished_, step);
  if (metrics_follow) await({step, false});
}

void StepLedger::await(Key key) {
  if (early_.erase(key) == 0) awaited_.insert(key);
}

void StepLedger::metrics(std::uint64_t step, bool evaluation) {
  const Key key{step, evaluation};
  if (awaited_.erase(key) == 0) early_.insert(key);
}

bool StepLedger::complete(std::uint64_t step) const {
  return finished_ >= step && (awaited_.empty() || awaited_.begin()->first > step);
}

}  // namespace d9d
