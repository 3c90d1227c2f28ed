#include "actors/notes/stop_report.hpp"

#include <fmt/format.h>

#include "runtime/base/host/signal_name.hpp"

namespace d9d {

std::string report_of_stop(const StoppedJob& job) {
  std::string text = fmt::format("stopped by {} after ", signal_name(job.signal));
  text += job.step == 0 ? "the last step" : fmt::format("step {}", job.step);
  if (!job.unsaved.empty()) text += fmt::format("; its checkpoint could not be written ({})", job.unsaved);
  if (job.checkpoint.empty()) return text + "; there is no checkpoint to go on from";
  return text + fmt::format("; start the job again to go on from {}", job.checkpoint);
}

}  // namespace d9d
