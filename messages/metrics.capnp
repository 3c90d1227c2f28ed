@0xd9d0000000000007;
# Statistics of a task: updated per microbatch where the loss is computed, reduced beside
# training, written by the tracker. A state is a list of doubles whose meaning and operations
# the task's metrics know (runtime/metric), so a new kind of metric changes nothing here.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct CollectMetrics {
  # Trainer -> RankExecutor of its rank, on the logging period, between two
  # steps. No reply to the sender: MetricsTaken goes to the MetricCollector
  # of the rank. Repeated: takes what was counted since the last time.
  step @0 :UInt64;
  evaluation @1 :Bool;   # true: take the counts of the evaluation after `step`
  gradientScale @2 :Float64;   # 1 / weight of the step: times gradient sums the gradient of the mean loss
  loss @3 :Float64;      # mean loss of the evaluation over all ranks
}

struct MetricsTaken {
  # RankExecutor -> MetricCollector of its rank, when CollectMetrics has come: what the rank has counted
  # since the last time. The rank's metrics start anew, and the collectors of all ranks reduce their
  # states together. No reply. Repeated: counted twice, so there is one for each CollectMetrics.
  step @0 :UInt64;
  state @1 :List(Float64);   # of all metrics of the task, in the order of their names
  evaluation @2 :Bool;       # as in CollectMetrics
}

struct MetricValues {
  # MetricCollector of rank 0 -> Tracker, and for an evaluation also -> Trainer of rank 0, when the reductions for a
  # MetricsTaken are done. It has no names when the task has no metrics. No reply. Repeated: written again.
  step @0 :UInt64;
  names @1 :List(Text);      # one for each number that a metric of the task has
  values @2 :List(Float64);  # in the order of `names`
  evaluation @3 :Bool;       # as in CollectMetrics
  histograms @4 :List(NamedHistogram);   # of the task's metrics and of watched tensors

  struct NamedHistogram {
    name @0 :Text;
    edges @1 :List(Float64);    # one more than counts
    counts @2 :List(Float64);   # counts[i] values lay in [edges[i], edges[i + 1])
  }
}

struct RecordValue {
  # Any actor, also of a plugin -> Tracker, at any time: a number, a generated text or a picture to show with the
  # run. Trainer -> Tracker, at the end of a step: what its task recorded. It goes to all trackers of the run, in
  # the line of its step. No reply. Repeated: written again.
  step @0 :UInt64;
  name @1 :Text;          # "samples/first"
  union {
    number @2 :Float64;
    text @3 :Text;
    picture @4 :Data;     # a PNG file; other bytes are left out with a warning
  }
  context @5 :List(Entry);  # what sets the value apart from others of its name: subset = validation

  struct Entry {
    key @0 :Text;
    value @1 :Text;
  }
}

struct StepShown {
  # Tracker -> Trainer of rank 0, in a job with `trainer.logging.max_pending_steps`: the trackers have the numbers of
  # `step`. No reply: training goes on if it has waited for them. Repeated, or for an earlier step: no effect.
  step @0 :UInt64;
}

struct MetricState {
  # RankExecutor -> Trainer of its rank, the reply to Snapshot: counts that are not reported yet,
  # for the checkpoint of `step`. No reply: the Trainer passes it on in CheckpointState. Without a
  # Snapshot of that step it is a bug; repeated before the commit it replaces the one before.
  step @0 :UInt64;
  state @1 :Text;   # JSON
}

struct FlushTracker {
  # Coordinator -> Tracker, for the checkpoint of `step` or at the end of the job:
  # make everything written so far visible to readers. Reply: TrackerFlushed, when StepFinished
  # of `step` and all metrics up to it have come. Repeated: answered again.
  step @0 :UInt64;
}

struct TrackerFlushed {
  # Tracker -> Coordinator, the reply to FlushTracker: a reader of the files finds all numbers up to `step`.
  # No reply: the Coordinator commits the checkpoint or ends the job. Repeated: ignored.
  step @0 :UInt64;
}
