#pragma once
// A pipeline that only sleeps: the workers behind the real RankExecutor and Collective actors, so that what a step
// takes beyond its sleeps is what the actors and messages cost. Times in nanoseconds of the monotonic clock.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/rank/feed/microbatch_feed.hpp"
#include "runtime/rank/group/collective_worker.hpp"
#include "runtime/rank/rank_worker.hpp"

namespace d9d {

// Seconds an action sleeps.
using SleepDuration = std::function<double(const Action&)>;

// What one rank did in a step: one entry per instruction, in the order it ran them.
struct SleptAction {
  Instruction instruction;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t overslept_ns = 0;  // what the sleep took beyond what was asked
};

// What the workers of all ranks did, by step. Thread-safe.
class SleepLog {
 public:
  using Step = std::map<int, std::vector<SleptAction>>;  // by rank
  void add(std::uint64_t step, int rank, SleptAction action);
  std::vector<Step> steps() const;  // index = step - 1

 private:
  mutable std::mutex mutex_;
  std::vector<Step> steps_;
};

struct SleepStageOptions {
  int rank = 0;
  std::shared_ptr<const PipelineProgram> program;
  CursorOrder order = CursorOrder::static_;
  int extra_activations = 0;
  SleepDuration duration;
  TensorTable* table = nullptr;
  SleepLog* log = nullptr;
};
std::unique_ptr<RankWorker> make_sleep_stage(SleepStageOptions options);

// Sums over the ranks of one process by meeting under a mutex; no buckets.
class MeetingPlace {
 public:
  explicit MeetingPlace(int ranks) : ranks_(ranks) {}
  void sum(std::vector<double>& values);

 private:
  const int ranks_;
  std::mutex mutex_;
  std::condition_variable met_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  std::vector<double> sum_, result_;
};
std::shared_ptr<CollectiveWorker> make_meeting_worker(MeetingPlace& place);

// Microbatches without tensors.
std::unique_ptr<MicrobatchFeed> make_empty_feed(int microbatches, TensorTable& table);

}  // namespace d9d
