#pragma once
// A thread of a rank for communication beside its compute: jobs run one after
// the other, in the order given, and whoever needs a result waits for its
// future. Ranks of a group give their lanes the same jobs in the same order.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/comm/around_work.hpp"

namespace d9d {

struct LaneJob {
  std::string name;  // for traces, e.g. "gather model.layers.3"
  std::uint64_t bytes = 0;
  std::function<void()> run;
};

class CommunicationLane {
 public:
  CommunicationLane() = default;
  // Waits for the job that runs; those behind it are dropped.
  ~CommunicationLane();
  CommunicationLane(const CommunicationLane&) = delete;
  CommunicationLane& operator=(const CommunicationLane&) = delete;

  // Before the first job: around jobs, on the lane's thread; around waiting for one, on the waiting thread.
  void set_around(AroundWork job, AroundWork wait);
  // To be waited for by wait().
  std::future<void> submit(LaneJob job);
  // Throws what the job threw. `name` as in traces.
  void wait(std::future<void> done, const std::string& name) const;

 private:
  struct Entry {
    LaneJob job;
    std::promise<void> done;
  };
  void work();
  void run(Entry& entry) const;

  AroundWork around_job_;
  AroundWork around_wait_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool closing_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace d9d
