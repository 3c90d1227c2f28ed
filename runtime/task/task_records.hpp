#pragma once
// Texts, pictures and single numbers that a task shows among the run's trackers (RankContext::record). They wait here
// until its rank's step ends, then its Trainer tells them to the Tracker. One for each rank.

#include <cstdint>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

struct TaskRecord {
  std::uint64_t step = 0;
  std::string name;  // "samples/first"
  std::variant<double, TextRecord, Picture> value;
  PointContext context = {};
};

class TaskRecords {
 public:
  // What waits at most; more of a step is left out with a warning.
  static constexpr std::size_t count_max = 256;
  static constexpr std::size_t bytes_max = std::size_t{32} << 20;

  // From any thread. Input error: no name, or a picture that is no PNG file.
  void add(TaskRecord record);
  // What was added since the last call, in its order. One thread.
  std::vector<TaskRecord> take();

 private:
  std::mutex mutex_;
  std::vector<TaskRecord> records_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace d9d
