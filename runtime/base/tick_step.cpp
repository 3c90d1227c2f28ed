#include "runtime/base/tick_step.hpp"

#include <cmath>
#include <initializer_list>

namespace d9d {

double tick_step(double span, int most) {
  const double rough = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace d9d
