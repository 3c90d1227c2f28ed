#pragma once
// The work that a rank has queued on its device, and when the device did it. Times are read only where
// the host has waited for the device anyway. Used by the rank's thread alone, which queues all of its
// work (rank/group/rank_gradients.hpp).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/device/stream_role.hpp"

namespace d9d {

class Device;

// Where the host was when it queued the work.
struct WorkOrigin {
  std::int32_t step = -1;   // of the trace
  std::uint64_t flow = 0;   // id of the span that queued it, to draw an arrow; 0: none
  bool evaluation = false;  // false: training
};

struct LoggedWork {
  // transfer: a copy of a tensor from another rank's stage. stall: a compute stream waits for another stream in
  // the middle of an action.
  enum class Kind { compute, collective, transfer, stall };
  Kind kind = Kind::compute;
  std::string name;                 // "2F3", "optimizer", "all_reduce tp[0,1]"
  int stage = -1, microbatch = -1;  // of the action, or of the action that needs the transfer
  std::uint64_t bytes = 0;
  StreamRole stream = StreamRole::compute;
  WorkOrigin origin = {};
  Event begun, behind, done;              // the work begins when `begun` and `behind` are reached
  std::int64_t begin_ns = 0, end_ns = 0;  // of SystemClock; set once it is done
  double seconds() const { return 1e-9 * static_cast<double>(end_ns - begin_ns); }
};

class WorkLog {
 public:
  using OnDone = std::function<void(const LoggedWork&)>;
  // `on_done` is called in settle() for each work that is done. `detailed`: also logs collectives, transfers
  // and stalls, for a trace.
  explicit WorkLog(bool detailed, OnDone on_done = {}) : detailed_(detailed), on_done_(std::move(on_done)) {}

  // Returns the log of this thread, or null if there is none.
  static WorkLog* current();
  static WorkLog* current_if_detailed();
  class Scope {
   public:
    explicit Scope(WorkLog* log);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WorkLog* const previous_;
  };

  void set_origin(const WorkOrigin& origin) { origin_ = origin; }  // of what is added from here on
  void add(LoggedWork work);
  // Reads the times of all work that is done by now.
  void settle();
  // Settles, and returns the work found done since the last call, in the order of add().
  std::vector<LoggedWork> take_done();

 private:
  const bool detailed_;
  const OnDone on_done_;
  WorkOrigin origin_;
  std::vector<LoggedWork> given_, done_;
};

// Logs the work that the stream is given from the constructor to end(). Does nothing if `log` is null.
class WorkTimer {
 public:
  WorkTimer() = default;
  WorkTimer(WorkLog* log, Device& device, LoggedWork work);
  void end();

 private:
  WorkLog* log_ = nullptr;
  Device* device_ = nullptr;
  LoggedWork work_;
};

// Makes the current stream wait for the event. A detailed log notes a stall if stages compute on it.
void wait_inside(Device& device, const Event& event, const std::string& what);

}  // namespace d9d
