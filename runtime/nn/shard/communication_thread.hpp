#pragma once
// A rank's thread for communication that overlaps with compute. It runs one job at a time, in
// the order of submit(). All ranks of a group must submit the same jobs in the same order,
// because a job waits for its peers.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/comm/trace_hook.hpp"

namespace d9d {

struct CommunicationJob {
  std::string name;  // for traces, e.g. "gather model.layers.3"
  std::uint64_t bytes = 0;
  std::function<void()> run;
};

class CommunicationThread {
 public:
  CommunicationThread() = default;
  // Waits for the running job; drops the queued ones.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  // Sets the hooks of traces; call it before the first job. `job` runs around each job on this thread,
  // `wait` around each wait() on the waiting thread.
  void set_around(TraceHook job, TraceHook wait);
  // Queues a job. Pass the future to wait().
  std::future<void> submit(CommunicationJob job);
  // Blocks until the job has run. Rethrows its exception. `name` is the wait's name in traces.
  void wait(std::future<void> done, const std::string& name) const;

 private:
  struct Entry {
    CommunicationJob job;
    std::promise<void> done;
  };
  void work();
  void run(Entry& entry) const;

  TraceHook around_job_;
  TraceHook around_wait_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool closing_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace d9d
