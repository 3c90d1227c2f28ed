#pragma once
// Sections that one rank runs before the others (CORE-14): it makes a file, the others find it there.

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {

// `section` runs on the group's first rank, then on all others at once. Does not wait for the others' end. If
// the first one throws, the group is aborted with its text, so that nobody waits for what does not come.
template <class Section>
void first_rank_first(Communicator& communicator, Section&& section) {
  if (communicator.rank() != 0) {
    communicator.barrier();
    std::forward<Section>(section)();
    return;
  }
  try {
    std::forward<Section>(section)();
  } catch (...) {
    communicator.abort("the first rank's section failed: " + describe_current_exception().what);
    throw;
  }
  communicator.barrier();
}

}  // namespace d9d
