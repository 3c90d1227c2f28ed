#pragma once
// What a task counts outside of its microbatches (RankContext::count), until the metrics of its rank get it.

#include <functional>
#include <mutex>
#include <vector>

#include "runtime/metric/compose.hpp"

namespace d9d {

class TaskCounts {
 public:
  explicit TaskCounts(const std::function<void(Compose&)>& declare) { declare(metrics_); }

  // From any thread.
  void update(const std::function<void(Compose&)>& update) {
    const std::lock_guard lock(mutex_);
    update(metrics_);
  }
  // Compose::take_updates().
  std::vector<double> take() {
    const std::lock_guard lock(mutex_);
    return metrics_.take_updates();
  }

 private:
  std::mutex mutex_;
  Compose metrics_;
};

}  // namespace d9d
