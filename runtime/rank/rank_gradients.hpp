#pragma once
// What the RankExecutor and the Collectives of a rank share: the gradient buckets. The
// RankExecutor makes them before it says Ready. Between ReduceBucket and BucketReduced
// a bucket belongs to the Collective, at all other times to the RankExecutor.

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/device/event.hpp"

namespace d9d {

class FlatParameters;
class NormParts;

// By bucket: what the streams of the rank's device have come to. Any thread; of the CPU there is nothing to keep.
class BucketEvents {
 public:
  // The RankExecutor, before it says ReduceBucket.
  void set_complete(int bucket, Event event) { set(complete_, bucket, std::move(event)); }
  Event complete(int bucket) const {
    const std::lock_guard lock(mutex_);
    const auto found = complete_.find(bucket);
    return found == complete_.end() ? Event() : found->second;
  }
  // The Collective, before it says BucketReduced.
  void set_reduced(int bucket, Event event) { set(reduced_, bucket, std::move(event)); }
  // Those since the last call.
  std::vector<Event> take_reduced() {
    const std::lock_guard lock(mutex_);
    std::vector<Event> events;
    for (auto& [bucket, event] : std::exchange(reduced_, {})) events.push_back(std::move(event));
    return events;
  }

 private:
  using Events = std::map<int, Event>;
  void set(Events& events, int bucket, Event event) {
    if (event.state() == nullptr) return;
    const std::lock_guard lock(mutex_);
    events[bucket] = std::move(event);
  }

  mutable std::mutex mutex_;
  Events complete_, reduced_;
};

struct RankGradients {
  std::shared_ptr<const FlatParameters> parameters;
  // On a device: shares of the norm that the Collectives leave there, instead of saying them with BucketReduced.
  std::shared_ptr<NormParts> norm_parts = {};
  BucketEvents events = {};
};

}  // namespace d9d
