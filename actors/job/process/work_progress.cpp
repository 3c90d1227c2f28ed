#include "actors/job/process/work_progress.hpp"

#include "runtime/base/host/terminal.hpp"

namespace d9d {
namespace {

constexpr double quiet_seconds = 2;

}  // namespace

WorkProgress::WorkProgress(std::ostream& err, bool is_terminal, const Clock& clock)
    : clock_(clock),
      begin_ns_(clock.now_ns()),
      own_(std::make_unique<ProgressDisplay>(err, ProgressOptions{.is_terminal = is_terminal}, clock)),
      display_(*own_) {}

WorkProgress::WorkProgress(ProgressDisplay& display, const Clock& clock)
    : clock_(clock), begin_ns_(clock.now_ns()), display_(display) {}

WorkProgress::~WorkProgress() {
  if (shown_) display_.finish();
}

void WorkProgress::update(std::uint64_t done, std::uint64_t total) {
  const double seconds = static_cast<double>(clock_.now_ns() - begin_ns_) * 1e-9;
  if (seconds < quiet_seconds) return;
  shown_ = true;
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
  display_.update({.step = static_cast<std::int64_t>(done),
                   .total_steps = static_cast<std::int64_t>(total),
                   .seconds_left = left,
                   .bytes_per_second = rate,
                   .counts_bytes = true});
}

bool is_on_terminal() {
  return is_screen(STDERR_FILENO);
}

}  // namespace d9d
