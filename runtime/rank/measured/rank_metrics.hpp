#pragma once
// Collects the metrics that a rank's task declares, until the job takes them. Needs torch.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/metric/compose.hpp"
#include "runtime/task/task_counts.hpp"

namespace d9d {

class TrainTask;

// Declares the metrics of the task, which may be a user's (user_call.hpp).
void declare_task_metrics(const TrainTask& task, Compose& metrics);

class RankMetrics {
 public:
  using Declare = std::function<void(Compose&)>;
  // `counts_loss`: true on one of the ranks that compute the same loss of the same samples. On the others
  // the updates that the task makes with its loss are dropped.
  RankMetrics(const Declare& declare, bool counts_loss);

  // Continues from the JSON of a checkpoint. Returns the metrics in it that the task no longer declares.
  std::vector<std::string> load(const std::vector<std::string>& states);
  // here(): for updates made outside compute_loss. of_losses(): for updates made inside it; dropped on
  // ranks whose loss does not count.
  Compose& here() { return here_; }
  Compose& of_losses() { return counts_loss_ ? here_ : dropped_; }
  Compose& dropped() { return dropped_; }
  // For updates from any thread; all() includes them. May outlive this object.
  const std::shared_ptr<TaskCounts>& beside() const { return beside_; }

  // Merges the updates from other threads and returns all metrics.
  Compose& all();
  // Returns Compose::state() of all updates since the last call.
  std::vector<double> take();

 private:
  const bool counts_loss_;
  Compose here_, dropped_;
  const std::shared_ptr<TaskCounts> beside_;
};

}  // namespace d9d
