#pragma once
// The progress bar of work on a known number of bytes. Work of less than two seconds shows no bar.

#include <cstdint>
#include <iosfwd>
#include <memory>

#include "runtime/base/clock.hpp"
#include "runtime/metric/progress.hpp"

namespace d9d {

class WorkProgress {
 public:
  // `err` and `clock` outlive this object. On a terminal the bar stays in place; elsewhere it prints a line
  // every 10 s.
  WorkProgress(std::ostream& err, bool is_terminal, const Clock& clock);
  // Borrows a display that shows something else before and afterwards. The display outlives this object.
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

// Whether stderr is a terminal.
bool is_on_terminal();

}  // namespace d9d
