#pragma once
// Collective: runs the reductions of one group of ranks, in the order that all members share and not in the
// order of arrival. Own thread: it waits for its peers. One per group and rank. Parent: Node.
// hears ReduceBucket ReduceValues Sleep Wake    says Ready BucketReduced ValuesReduced Slept Awake

#include <map>
#include <memory>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/train.capnp.h"
#include "runtime/rank/group/collective_worker.hpp"

namespace d9d {

class Collective final : public Actor {
 public:
  struct Options {
    std::shared_ptr<CollectiveWorker> worker;
  };
  Collective(World& world, Options options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void reduce_bucket(wire::ReduceBucket::Reader message);
  void reduce_values(wire::ReduceValues::Reader message);
  void sleep(wire::Sleep::Reader message);
  void wake(wire::Wake::Reader message);

 private:
  struct Values {
    ActorId asker;
    std::vector<double> values;
    ReduceOp operation;
    std::uint64_t step;
  };
  void reduce_values_in_order();

  Options options_;
  std::uint64_t next_order_ = 0;
  std::map<std::uint64_t, Values> waiting_;
  std::uint32_t track_ = 0;
};

}  // namespace d9d
