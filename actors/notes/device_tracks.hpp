#pragma once
// What a rank's device does with the work that it is given: in the trace spans on tracks of its own, each with an arrow
// from the span that gave it. On the CPU work is done when its call returns, and there is nothing to add.

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

  // What the device runs in the steps of the window, on tracks "device kernels" of its streams. `device` outlives this.
  void trace_kernels(Device* device, const TraceWindow& window);
  void begin_step(std::uint64_t step);

  bool is_late() const { return log_ != nullptr; }
  // Of a span around calls that do such work, or give it to the device.
  trace::Category category_of(trace::Category work) const { return log_ ? trace::Category::launch : work; }
  // The span of calls that begin now, with that category; what they give leads back to it.
  trace::Span begun(trace::Span work, bool evaluation);
  // Records what is known to be done by now. Seconds that its actions took.
  double record_done();

 private:
  trace::Span span_of(const LoggedWork& done);
  void record_kernels(std::vector<LoggedWork> done);
  void switch_kernels();

  WorkLog* const log_;
  trace::Recorder* const recorder_;
  const int rank_;
  trace::NameCache names_;
  std::array<std::uint32_t, 4> tracks_{}, kernel_tracks_{};  // by StreamRole
  Device* device_ = nullptr;                                 // whose kernels are wanted
  TraceWindow window_;
  bool notes_kernels_ = false;
  std::uint64_t step_ = 0;  // that began last
  std::vector<LoggedWork> done_before_;
};

}  // namespace d9d
