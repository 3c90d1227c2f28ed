@0xd9d0000000000007;
# Statistics of a task: updated per microbatch where the loss is computed, reduced beside training, written by the
# tracker. A state is a list of doubles whose meaning and operations the task's metrics know (runtime/metric): a new kind
# of metric changes nothing here.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct CollectMetrics {
  # Trainer -> RankExecutor, on the logging period, between two steps. Reply: MetricsTaken goes to the MetricCollector of the
  # rank. Repeated: the second one takes what came since, which is nothing.
  step @0 :UInt64;
}

struct MetricsTaken {
  # RankExecutor -> MetricCollector of its rank, when told CollectMetrics: what the rank has counted since the last time; its
  # metrics start anew. The collector reduces it over all ranks. No reply; repeated: counted twice.
  step @0 :UInt64;
  state @1 :List(Float64);   # of all metrics of the task, in the order of their names
}

struct MetricValues {
  # MetricCollector of rank 0 -> Tracker, for every MetricsTaken; without names where the task has no metrics. No reply;
  # repeated: written again.
  step @0 :UInt64;
  names @1 :List(Text);
  values @2 :List(Float64);
}

struct MetricState {
  # RankExecutor -> Trainer, with every Snapshot: what is counted and not yet reported, for the checkpoint of `step`. No reply.
  step @0 :UInt64;
  state @1 :Text;   # JSON
}

struct FlushTracker {
  # Coordinator -> Tracker, for the checkpoint of `step` or at the end of the job: make visible what you were told. Reply:
  # TrackerFlushed, once StepFinished of `step` has come and all metrics up to it. Repeated: answered again.
  step @0 :UInt64;
}

struct TrackerFlushed {
  # Tracker -> Coordinator: a reader finds all numbers up to `step`. No reply; repeated: ignored.
  step @0 :UInt64;
}
