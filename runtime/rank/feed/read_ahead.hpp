#pragma once
// Threads that read samples at once, for sources whose samples take long: pictures that are decoded, files on a
// network. Samples, their order and the error that a step ends with are those of one thread. No torch in this header.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/data/source/source_over.hpp"

namespace d9d {

class ReadAhead final : public SourceOver {
 public:
  // `timeout`: how long at() waits for a sample; 0: as long as it takes. `source` is no stream.
  ReadAhead(std::shared_ptr<const SampleSource> source, int threads, std::chrono::milliseconds timeout);
  // Waits for the samples that are being read.
  ~ReadAhead() override = default;

  // Reads `count` samples from `first` on, and no more of those begun before.
  void begin(std::uint64_t first, std::uint64_t count);
  // A sample that was begun is kept until the first call for it, and waited for; another one is read by the caller.
  // Throws what the source threw for it. Environment error: the time is over.
  Sample at(std::uint64_t index) const override;

 private:
  struct Slot {
    enum class State { waits, is_read, taken };
    State state = State::waits;
    Sample sample{};
    std::exception_ptr error{};
  };
  struct Range {
    std::uint64_t first = 0;
    std::vector<Slot> slots{};
    std::size_t next = 0;  // the first slot that no thread has begun
  };

  void work(const std::stop_token& stop);
  Slot* wait_for(std::uint64_t index, std::unique_lock<std::mutex>& lock) const;

  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable_any has_work_;
  mutable std::condition_variable is_read_;
  std::shared_ptr<Range> range_;       // a thread that reads a sample of an earlier one keeps that
  std::vector<std::jthread> threads_;  // the last member: they end before what they use
};

}  // namespace d9d
