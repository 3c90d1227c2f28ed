#pragma once
// A tracker of a plugin on a thread of its own, because no thread can be taken out of a call that blocks. A tracker
// that throws, or that has not returned from a call within its limit, gets nothing more, and training goes on.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

struct TrackerThreadOptions {
  std::string name;  // of the tracker
  std::function<std::unique_ptr<TrackerRun>()> open;
  // Time counts only while this process runs.
  std::chrono::milliseconds open_limit, call_limit;
  std::function<void()> before_lines_go_out{};  // called on the caller's thread; may be empty
};

class TrackerThread final : public TrackerRun {
 public:
  // Throws what `open` throws, named. Environment error: it has not returned within its limit.
  explicit TrackerThread(TrackerThreadOptions options);
  // Leaves a thread that blocks behind. It ends with the process.
  ~TrackerThread() override;
  TrackerThread(const TrackerThread&) = delete;
  TrackerThread& operator=(const TrackerThread&) = delete;

  // Values and the announcement of the end are handed over at once; the others wait for the tracker.
  void write(const Point& point, const TrackerValue& value) override;
  void begin_close() override;
  void end_step(std::int64_t step) override;
  void hparams(const nlohmann::json& hparams) override;
  void flush() override;
  void close() override;

 private:
  struct Shared;  // lives as long as the thread

  void hand_over(const char* call, std::function<void(TrackerRun&)> work);
  void wait_for(const char* call, std::function<void(TrackerRun&)> work);
  void lines_go_out() const;

  const TrackerThreadOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::int64_t step_ = 0;  // of what was given last
};

}  // namespace d9d
