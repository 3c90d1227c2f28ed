#pragma once
// What a rank gave to its device, and when the device did it. Times are looked at where the host has waited for the device
// anyway, so that no host waits for them. Of the rank's thread, which gives all of its work (rank/rank_gradients.hpp).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/device/stream_role.hpp"

namespace d9d {

class Device;

// The host's part of it.
struct WorkOrigin {
  std::int32_t step = -1;   // of traces
  std::uint64_t flow = 0;   // of the span that gave it, for an arrow; 0: none
  bool evaluation = false;  // and no training
};

struct LoggedWork {
  // transfer: a copy of what another rank's stage hands over. stall: `compute` stands still inside of an action, because
  // it needs what another stream does.
  enum class Kind { compute, collective, transfer, stall };
  Kind kind = Kind::compute;
  std::string name;                 // "2F3", "optimizer", "all_reduce tp[0,1]"
  int stage = -1, microbatch = -1;  // of an action, or of the one that a transfer is for
  std::uint64_t bytes = 0;
  StreamRole stream = StreamRole::compute;
  WorkOrigin origin = {};
  Event begun, behind, done;              // it begins when the first two are reached
  std::int64_t begin_ns = 0, end_ns = 0;  // of SystemClock; when it is done
  double seconds() const { return 1e-9 * static_cast<double>(end_ns - begin_ns); }
};

class WorkLog {
 public:
  using OnDone = std::function<void(const LoggedWork&)>;
  // Calls `on_done` for each, in settle(). `detailed`: of collectives, transfers and stalls, too, which a trace wants.
  explicit WorkLog(bool detailed, OnDone on_done = {}) : detailed_(detailed), on_done_(std::move(on_done)) {}

  // That of this thread; null: none is asked for.
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
  // Looks at what is done by now.
  void settle();
  // What was found done since the last call, in the order in which it was given.
  std::vector<LoggedWork> take_done();

 private:
  const bool detailed_;
  const OnDone on_done_;
  WorkOrigin origin_;
  std::vector<LoggedWork> given_, done_;
};

// From here to end() the stream gets the work, for `log`; without one nothing happens.
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

// The current stream waits for the event; in a detailed log a stall, if that is `compute`.
void wait_inside(Device& device, const Event& event, const std::string& what);

}  // namespace d9d
