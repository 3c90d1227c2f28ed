#pragma once
// MetricCollector: reduces the counts of all ranks while training goes on, and computes the task's metrics
// from them. Own thread: metrics are users' code, too. One per rank. Parent: Node.
// hears MetricsTaken ValuesReduced Sleep    says ReduceValues MetricValues Slept

#include <functional>
#include <optional>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/metrics.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/metric/compose.hpp"

namespace d9d {

struct MetricCollectorOptions {
  int rank = 0;
  ActorId collective;                    // this rank's one over all ranks; only metrics use it
  std::function<void(Compose&)> create;  // the same metrics on every rank; for their layout and results
  std::function<void(Compose&)> create_evaluation = [](Compose&) {};  // the same for evaluations
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
  // A reduction under way: first the sums, then the maxima if the metrics have any.
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
