#pragma once
// The scale of an axis and the ticks on it.

#include <string>
#include <vector>

namespace d9d::report {

struct Tick {
  double value = 0;
  std::string label;
};

struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks = {};  // within [low, high]

  // Returns the position: 0 at `low`, 1 at `high`. On a logarithmic axis `value` must
  // be larger than 0.
  double place(double value) const;
};

// Labels of one axis have the same unit and number of decimals: "12.5k", "3e-4". `step` is the
// smallest difference to show.
std::string tick_label(double value, double step, double largest);
// Writes one number with at most four digits: "2.87M", "0.0003", "17".
std::string short_number(double value);

// An axis from `low` to `high` with about `count` ticks; if the two are equal,
// a little around them.
Axis linear_axis(double low, double high, int count);
// An axis with ticks at powers of ten, some left out if there are too many. Both ends must
// be larger than 0.
Axis logarithmic_axis(double low, double high, int count);

}  // namespace d9d::report
