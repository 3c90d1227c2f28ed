#pragma once
// Counts the waits between streams of delayed devices, and leaves out one of them on request. If no test fails without
// a wait, then the wait is not needed, or not tested.

#include <cstdint>

namespace d9d::delayed {

class StreamWaits {
 public:
  // Waits from now on are the first, the second, ... of the process; number `skipped` is left out (0: none). At the
  // start of the process it is what D9D_SKIP_WAIT says.
  static void restart(std::uint64_t skipped);
  static std::uint64_t count();
  // Counts one more. Whether it is to be left out.
  static bool skips_next();
};

}  // namespace d9d::delayed
