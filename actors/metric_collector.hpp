#pragma once
// MetricCollector: reduces what the ranks counted over all of them, beside training, and computes the task's metrics.
// Pool. One per rank. Parent: Node.
// hears MetricsTaken ValuesReduced Sleep    says ReduceValues MetricValues Slept

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/metrics.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/metric/compose.hpp"

namespace d9d {

struct MetricCollectorOptions {
  int rank = 0;
  ActorId collective;                    // of this rank, over the whole world, used by metrics only
  std::function<void(Compose&)> create;  // the same metrics on every rank; used for layout and results only
  std::function<void(Compose&)> create_evaluation = [](Compose&) {};  // as create; of what is evaluated
};

class MetricCollector final : public Actor {
 public:
  MetricCollector(World& world, MetricCollectorOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void metrics_taken(wire::MetricsTaken::Reader message);
  void values_reduced(wire::ValuesReduced::Reader message);
  void sleep(wire::Sleep::Reader message);

 private:
  // A reduction under way: sums first, then maxima where there are any.
  struct Collection {
    std::uint64_t step;
    bool evaluation;
    PackedState packed;
  };
  struct Counted {
    Compose metrics;
    std::vector<ReduceOp> layout;
  };
  void reduce(const std::vector<double>& values, bool maxima);
  void finish_collection();
  void sleep_when_idle();
  void report(std::uint64_t step, bool evaluation, const MetricValues& values,
              const std::vector<NamedHistogram>& histograms);
  const Counted& counted(bool evaluation) const { return evaluation ? evaluation_ : training_; }

  MetricCollectorOptions options_;
  Counted training_, evaluation_;
  std::vector<Collection> collections_;       // oldest first
  std::optional<std::uint64_t> sleep_after_;  // the step of a Sleep that has no answer yet
  std::uint64_t next_order_ = 0;
};

}  // namespace d9d
