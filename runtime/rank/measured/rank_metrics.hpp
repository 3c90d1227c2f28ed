#pragma once
// The metrics that a rank's task declares, until the job takes them. Needs torch.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/metric/compose.hpp"
#include "runtime/task/task_counts.hpp"

namespace d9d {

class RankMetrics {
 public:
  using Declare = std::function<void(Compose&)>;
  // `counts_loss`: one of the ranks that compute the same loss of the same samples does; what the task counts with the
  // losses of the others is dropped.
  RankMetrics(const Declare& declare, bool counts_loss);

  // Goes on counting from the JSON of a checkpoint. Returns the metrics in it that the task no longer declares.
  std::vector<std::string> load(const std::vector<std::string>& states);
  // Where the task counts beside its losses, and with them.
  Compose& here() { return here_; }
  Compose& of_losses() { return counts_loss_ ? here_ : dropped_; }
  Compose& dropped() { return dropped_; }
  // What the task counts from any thread, in all() from then on; it may outlive this.
  const std::shared_ptr<TaskCounts>& beside() const { return beside_; }

  // With what the task counted from other threads.
  Compose& all();
  // Compose::state() of what was counted since the last call.
  std::vector<double> take();

 private:
  const bool counts_loss_;
  Compose here_, dropped_;
  const std::shared_ptr<TaskCounts> beside_;
};

}  // namespace d9d
