@0xd9d0000000000007;
# Statistics of a task: updated per microbatch, reduced beside training, written by the tracker.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct MetricUpdate {
  # RankExecutor -> MetricCollector of its rank, per microbatch of the last stage. No reply.
  step @0 :UInt64;
  values @1 :List(Value);
  struct Value {
    name @0 :Text;
    value @1 :Float64;
    weight @2 :Float64;   # of a weighted mean; ignored for a sum
    kind @3 :Kind;
  }
  enum Kind { weightedMean @0; sum @1; }
}

struct CollectMetrics {
  # Trainer -> MetricCollector, on the logging period. The collector reduces over the ranks and reports.
  step @0 :UInt64;
}

struct MetricValues {
  # MetricCollector of rank 0 -> Tracker, for every CollectMetrics; without names where the task has no metrics.
  step @0 :UInt64;
  names @1 :List(Text);
  values @2 :List(Float64);
}

struct SaveMetrics {
  # Trainer -> MetricCollector: the state for the checkpoint of `step`. Reply: MetricState.
  step @0 :UInt64;
}

struct MetricState {
  # MetricCollector -> Trainer.
  step @0 :UInt64;
  state @1 :Text;   # JSON
}

struct SaveTracker {
  # Coordinator -> Tracker: flush and report your state, for the checkpoint of `step` or at the job's end. Reply:
  # TrackerState, once StepFinished of `step` has come and all metrics up to it. Repeated: answered again.
  step @0 :UInt64;
}

struct TrackerState {
  # Tracker -> Coordinator.
  step @0 :UInt64;
  state @1 :Text;   # JSON
}
