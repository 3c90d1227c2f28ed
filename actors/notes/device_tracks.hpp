#pragma once
// The trace of a rank's device: spans on the device's own tracks, each with an arrow from the host's span
// that queued the work. On the CPU, work is done when its call returns, so there is nothing to add.

#include <array>
#include <cstdint>
#include <vector>

#include "actors/notes/trace_window.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/trace/record/scoped_span.hpp"

namespace d9d {

class Device;

class DeviceTracks {
 public:
  // `log` null: the CPU. `recorder` null: no trace. Both outlive this object.
  DeviceTracks(WorkLog* log, trace::Recorder* recorder, int rank);

  // Also records each kernel that the device runs in the steps of the window, on one track "device kernels"
  // for each stream. `device` outlives this object.
  void trace_kernels(Device* device, const TraceWindow& window);
  void begin_step(std::uint64_t step);

  bool is_late() const { return log_ != nullptr; }
  // The category of a span around calls: `work` on the CPU, `launch` where the calls queue the
  // work on a device.
  trace::Category category_of(trace::Category work) const { return log_ ? trace::Category::launch : work; }
  // Returns `work` with that category, as the span of calls that begin now. Spans of the work that these
  // calls queue have their arrows from it.
  trace::Span begun(trace::Span work, bool evaluation);
  // Records the work that is done by now. Returns the seconds that its compute actions
  // took, evaluations left out.
  double record_done();

 private:
  trace::Span span_of(const LoggedWork& done);
  void record_kernels(std::vector<LoggedWork> done);
  void switch_kernels();

  WorkLog* const log_;
  trace::Recorder* const recorder_;
  const int rank_;
  trace::NameCache names_;
  std::array<std::uint32_t, stream_roles.size()> tracks_{}, kernel_tracks_{};  // by StreamRole
  Device* device_ = nullptr;  // null: kernels are not recorded
  TraceWindow window_;
  bool notes_kernels_ = false;
  std::uint64_t step_ = 0;  // the step that began last
  std::vector<LoggedWork> done_before_;
};

}  // namespace d9d
