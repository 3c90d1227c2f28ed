#pragma once
// Detailed traces: of each `period` steps the last `active` ones are written to a file of their own.

#include <cstdint>

namespace d9d {

struct TraceWindow {
  std::uint64_t period = 0;
  std::uint64_t active = 0;
  std::uint64_t first_step = 1;  // the first one of this start of the job; periods begin there

  bool ends_with(std::uint64_t step) const { return (step - first_step + 1) % period == 0; }
  // Whether the step is one of the last `active` ones of its period.
  bool has(std::uint64_t step) const { return (step - first_step) % period + active >= period; }
};

}  // namespace d9d
