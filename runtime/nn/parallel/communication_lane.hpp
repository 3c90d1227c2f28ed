#pragma once
// A thread of a rank for communication beside its compute: jobs run one after the other, in the order given,
// and whoever needs a result waits for its future. Ranks of a group give their lanes the same jobs in the
// same order.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>

namespace d9d {

struct LaneJob {
  std::string name;  // for traces, e.g. "gather model.layers.3"
  std::uint64_t bytes = 0;
  std::function<void()> run;
};

class CommunicationLane {
 public:
  // Runs the job and may measure it.
  using Around = std::function<void(const LaneJob& job)>;

  CommunicationLane() = default;
  // Waits for the job that runs; those behind it are dropped.
  ~CommunicationLane();
  CommunicationLane(const CommunicationLane&) = delete;
  CommunicationLane& operator=(const CommunicationLane&) = delete;

  // Before the first job.
  void set_around(Around around) { around_ = std::move(around); }
  // The future throws what the job threw.
  std::future<void> submit(LaneJob job);

 private:
  struct Entry {
    LaneJob job;
    std::promise<void> done;
  };
  void work();
  void run(Entry& entry) const;

  Around around_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool closing_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace d9d
