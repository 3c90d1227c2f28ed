#pragma once
// Names and counts the waits between streams of delayed devices, and leaves out one of them on request. If no test
// fails without a wait, then the wait is not needed, or not tested. A wait that adds no order is none.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d::delayed {

class StreamWaits {
 public:
  // Forgets the waits so far, and leaves out the one with this name (names()), all of a place (places()), or the one
  // with this number, from 1 on; "": none. At the start of the process it is what D9D_SKIP_WAIT says.
  static void restart(const std::string& skipped = {});
  static std::uint64_t count();
  // "delayed:1 compute waits for delayed:1 communicate in 0B2, all_reduce of tp[0,1], 3": the third such wait. If each
  // piece of work is given by one thread, a wait has the same name in every run.
  static std::vector<std::string> names();
  // The same without numbers: "delayed: compute waits for delayed: communicate in B, the result of tp". All waits of a
  // place are missing if the program forgets it.
  static std::vector<std::string> places();
  // Whether it came, and was left out.
  static bool left_out();
  // Counts one more, of a stream_place() for another. Whether it is to be left out.
  static bool skips_next(int waits, int for_place);
};

}  // namespace d9d::delayed
