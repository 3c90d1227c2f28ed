#pragma once
// Shows the progress of a job or a long command: a bar that stays in place on a terminal, else a
// line every few seconds.

#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>

#include "runtime/base/clock.hpp"

namespace d9d {

// Numbers that are not known are NaN or 0 and are left out.
struct ProgressState {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
  double bytes_per_second = 0;
  bool counts_bytes = false;  // `step` and `total_steps` are bytes that a command works through
};

// One line of at most `columns` characters: the bar shrinks first, then the figures go, from the right.
std::string progress_bar(const ProgressState& state, int columns);
// The figures only.
std::string progress_line(const ProgressState& state);
// 75 -> "1:15", 3700 -> "1:01:40".
std::string clock_text(double seconds);
// 1234567 -> "1.23M", 999 -> "999".
std::string short_number(double value);
// 1234567 -> "1.23MB".
std::string size_text(std::uint64_t bytes);

struct ProgressOptions {
  bool is_terminal = false;
  int columns = 100;
  double seconds_between_draws = 0.1;  // on a terminal
  double seconds_between_lines = 10;   // elsewhere
};

// Thread-safe: the hook of the log (log::set_before_line) may
// call leave_line() from any thread. Stream and clock outlive it.
class ProgressDisplay {
 public:
  ProgressDisplay(std::ostream& out, const ProgressOptions& options, const Clock& clock)
      : out_(out), options_(options), clock_(clock) {}
  ~ProgressDisplay();

  // The first and the last step are always shown.
  void update(const ProgressState& state);
  // Clears the bar's line, so that other code can print there; the next update draws the bar again.
  void leave_line();
  // Leaves the last state visible and ends its line.
  void finish();

 private:
  void draw();

  std::ostream& out_;
  const ProgressOptions options_;
  const Clock& clock_;
  std::mutex mutex_;
  ProgressState state_;
  std::int64_t drawn_ns_ = 0;
  bool drawn_once_ = false;
  bool drawn_current_ = true;  // the last state is what was drawn last
  bool bar_stands_ = false;
};

}  // namespace d9d
