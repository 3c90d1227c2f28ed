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

  // 0 at `low`, 1 at `high`. Of a logarithmic axis `value` is larger than 0.
  double place(double value) const;
};

// Numbers that share a sign, a unit and a number of decimals: "12.5k", "3e-4". `step` is the least difference to show.
std::string tick_label(double value, double step, double largest);
// Four digits of one number, as people write it: "2.87M", "0.0003", "17".
std::string short_number(double value);

// From `low` to `high`; where they are equal, a little around them. About `count` ticks.
Axis linear_axis(double low, double high, int count);
// Ticks at powers of ten, of which few at most are left out; both ends are larger than 0.
Axis logarithmic_axis(double low, double high, int count);

}  // namespace d9d::report
