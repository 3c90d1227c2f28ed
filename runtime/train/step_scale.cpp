#include "runtime/train/step_scale.hpp"

#include <algorithm>
#include <cmath>

namespace d9d {

StepScale step_scale(double squares, double weight, std::optional<double> max_norm) {
  StepScale scale;
  if (!(weight > 0)) return scale;
  scale.norm = std::sqrt(squares) / weight;
  if (max_norm) scale.clip = std::min(1.0, *max_norm / (scale.norm + 1e-6));
  if (!std::isfinite(scale.norm)) scale.clip = scale.norm;
  scale.grad = scale.clip / weight;
  return scale;
}

}  // namespace d9d
