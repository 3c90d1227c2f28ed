#pragma once
// The state of a running job: its loss over the last minutes, and the time that it still needs.

#include <cstdint>
#include <optional>

#include "runtime/report/chart/curves.hpp"

namespace d9d::report {

struct RecentLoss {
  double mean = 0;               // of the window that ends with the last step
  std::optional<double> before;  // of the window before that
};

// Returns nothing if no step has both a loss and its time.
std::optional<RecentLoss> recent_loss(const Curves& curves, double window_seconds);

// Estimates the remaining time by the mean of the last steps, evaluations between them included.
// Nothing if no step has its time.
std::optional<double> seconds_left(const Curves& curves, std::uint64_t last_step, std::uint64_t total_steps);

}  // namespace d9d::report
