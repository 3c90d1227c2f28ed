#include "runtime/report/numbers/recent.hpp"

#include <algorithm>
#include <cmath>

namespace d9d::report {
namespace {

constexpr std::size_t steps_of_the_mean = 100;

struct Mean {
  double sum = 0;
  std::size_t count = 0;
  void add(double value) {
    if (!std::isfinite(value)) return;
    sum += value;
    ++count;
  }
  std::optional<double> value() const {
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  }
};

std::optional<double> value_at(const Curve& curve, double step) {
  const auto found = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (found == curve.steps.end() || *found != step) return std::nullopt;
  return curve.values[static_cast<std::size_t>(found - curve.steps.begin())];
}

}  // namespace

std::optional<RecentLoss> recent_loss(const Curves& curves, double window_seconds) {
  const Curve *loss = curves.find("loss"), *time = curves.find("time");
  if (loss == nullptr || time == nullptr) return std::nullopt;
  const double now = time->values.back();
  Mean recent, before;
  for (std::size_t i = loss->steps.size(); i-- > 0;) {
    const auto at = value_at(*time, loss->steps[i]);
    if (!at) continue;
    if (now - *at >= 2 * window_seconds) break;
    (now - *at < window_seconds ? recent : before).add(loss->values[i]);
  }
  if (recent.count == 0) return std::nullopt;
  return RecentLoss{.mean = *recent.value(), .before = before.value()};
}

std::optional<double> seconds_left(const Curves& curves, std::uint64_t last_step, std::uint64_t total_steps) {
  const Curve* seconds = curves.find("step_seconds");
  if (seconds == nullptr || last_step >= total_steps) return std::nullopt;
  const std::size_t first = seconds->steps.size() - std::min(steps_of_the_mean, seconds->steps.size());
  Mean mean;
  for (std::size_t i = first; i < seconds->values.size(); ++i) mean.add(seconds->values[i]);
  if (mean.count == 0) return std::nullopt;
  double of_evaluations = 0;
  if (const Curve* evaluations = curves.find("evaluation/seconds")) {
    for (std::size_t i = 0; i < evaluations->steps.size(); ++i) {
      if (evaluations->steps[i] >= seconds->steps[first] && std::isfinite(evaluations->values[i]))
        of_evaluations += evaluations->values[i];
    }
  }
  const double steps = seconds->steps.back() - seconds->steps[first] + 1;
  return (*mean.value() + of_evaluations / steps) * static_cast<double>(total_steps - last_step);
}

}  // namespace d9d::report
