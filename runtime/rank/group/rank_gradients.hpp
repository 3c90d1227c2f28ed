#pragma once
// The gradient buckets, which the RankExecutor and the Collectives of a rank share. The RankExecutor makes
// them before it says Ready. Between ReduceBucket and BucketReduced a bucket belongs to the Collective, at
// all other times to the RankExecutor.
//
// On a device the RankExecutor itself queues the sum, before it says ReduceBucket: all ranks have to queue
// collectives in the same order over all of their groups, or the collectives deadlock. The Collective then
// waits for nothing. The host waits once, at the end of the step.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/device/event.hpp"

namespace d9d {

class FlatParameters;
class NormParts;

// The sums of one group's gradients.
class BucketReduction {
 public:
  virtual ~BucketReduction() = default;
  // Connects the ranks of the group (Communicator::connect()).
  virtual void connect() = 0;
  // Queues the sum, ordered after the current stream of the rank's device, and
  // calls set_reduced() with its event.
  virtual void launch(int bucket) = 0;
  // Throws the error of a failed sum. Call it after the host has waited for the sums.
  virtual void check() const = 0;
};

// The sums of all groups of a rank, on a device. Any thread.
class BucketReductions {
 public:
  // The Collective calls it before it says Ready.
  void add(int group, std::weak_ptr<BucketReduction> reduction) {
    const std::lock_guard lock(mutex_);
    groups_[group] = std::move(reduction);
  }
  // The RankExecutor calls it before a step, with the group of each bucket, or -1. Groups without a bucket stay
  // unconnected: which ones have any is known only when the model is there.
  void connect(const std::vector<int>& of_buckets) {
    for (const int group : std::set<int>(of_buckets.begin(), of_buckets.end()))  // in one order on all ranks
      if (group >= 0) of(group)->connect();
  }
  // The RankExecutor calls it before it says ReduceBucket.
  void launch(int group, int bucket) { of(group)->launch(bucket); }
  void check() {
    std::map<int, std::weak_ptr<BucketReduction>> groups;
    {
      const std::lock_guard lock(mutex_);
      groups = groups_;
    }
    for (const auto& [index, group] : groups)
      if (const auto reduction = group.lock()) reduction->check();
  }
  void set_reduced(int bucket, Event event) {
    const std::lock_guard lock(mutex_);
    events_[bucket] = std::move(event);
  }
  // Returns the events that were set since the last call.
  std::vector<Event> take_events() {
    const std::lock_guard lock(mutex_);
    std::vector<Event> events;
    for (auto& [bucket, event] : std::exchange(events_, {})) events.push_back(std::move(event));
    return events;
  }

 private:
  std::shared_ptr<BucketReduction> of(int group) {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<BucketReduction> reduction = groups_[group].lock()) return reduction;
    throw Error(ErrorKind::environment, "the Collective of a group of gradients has ended");
  }

  std::mutex mutex_;
  std::map<int, std::weak_ptr<BucketReduction>> groups_;
  std::map<int, Event> events_;
};

struct RankGradients {
  std::shared_ptr<const FlatParameters> parameters;
  // On a device: shares of the norm. They stay on the device instead of travelling with BucketReduced.
  std::shared_ptr<NormParts> norm_parts = {};
  BucketReductions reductions = {};
};

}  // namespace d9d
