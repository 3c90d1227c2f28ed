#pragma once
// The bar of work on so many bytes. What takes less than two seconds shows none.

#include <cstdint>
#include <iosfwd>
#include <memory>

#include "runtime/base/clock.hpp"
#include "runtime/metric/progress.hpp"

namespace d9d {

class WorkProgress {
 public:
  // `err` and `clock` outlive it. On a terminal the bar stays in place, elsewhere there is a line every 10 s.
  WorkProgress(std::ostream& err, bool is_terminal, const Clock& clock);
  // On a display that shows something else before and afterwards, and outlives it.
  WorkProgress(ProgressDisplay& display, const Clock& clock);
  ~WorkProgress();

  void update(std::uint64_t done, std::uint64_t total);

 private:
  const Clock& clock_;
  const std::int64_t begin_ns_;
  const std::unique_ptr<ProgressDisplay> own_;
  ProgressDisplay& display_;
  bool shown_ = false;
};

// Whether stderr is one.
bool is_on_terminal();

}  // namespace d9d
