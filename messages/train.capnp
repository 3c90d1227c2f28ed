@0xd9d0000000000005;
# Reductions, the optimizer step, and what a rank tells about a finished step.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct ReduceBucket {
  # RankExecutor -> Collective: the bucket saw its last accumulation of this step. Collectives run in bucket order.
  # Reply: BucketReduced.
  step @0 :UInt64;
  bucket @1 :UInt32;
}

struct BucketReduced {
  # Collective -> RankExecutor.
  step @0 :UInt64;
  bucket @1 :UInt32;
  squaredNorm @2 :Float64;  # this rank's share of the bucket's sum of squares
}

struct ReduceValues {
  # Trainer or MetricCollector -> Collective of the whole world: all-reduce of a few doubles. Requests of one sender
  # run in `order`, the same on all ranks. Reply: ValuesReduced.
  order @0 :UInt64;
  values @1 :List(Float64);
  operation @2 :Operation;
  enum Operation { sum @0; max @1; min @2; }
  step @3 :UInt64;  # for traces
}

struct ValuesReduced {
  # Collective -> the asker.
  order @0 :UInt64;
  values @1 :List(Float64);
  step @2 :UInt64;  # of the request
}

struct ApplyStep {
  # Trainer -> RankExecutor: update the parameters, clear the gradients. Reply: StepApplied; the next BeginStep may come before
  # it. A repeated one would update twice: the Trainer tells it once a step.
  step @0 :UInt64;
  gradientScale @1 :Float64;  # 1 / global weight, times the clip factor
  learningRate @2 :Float64;   # multiplier of the optimizer's base rate
  costs @3 :List(Float64);    # sums over all ranks of StepComputed.costs: choose the next step's program by them
}

struct StepApplied {
  # RankExecutor -> Trainer, when the optimizer has updated the parameters of this rank: events of the step's end wait for it,
  # and so does the end of the job. No reply; one without an ApplyStep of its step is a bug.
  step @0 :UInt64;
}

struct StepFinished {
  # Trainer of rank 0 -> Tracker: the numbers of one step, the same on every mesh.
  step @0 :UInt64;
  totalSteps @1 :UInt64;
  loss @2 :Float64;
  gradNorm @3 :Float64;
  learningRate @4 :Float64;    # absolute
  tokens @5 :UInt64;           # of this step, over all ranks
  stepSeconds @6 :Float64;
  wallTime @7 :Float64;        # seconds since 1970
  obsoleteEpoch @8 :UInt32;
  nextSample @9 :UInt64;       # data cursor in global samples after this step
  tokensTotal @10 :UInt64;     # of all steps so far, those before a resume included
  metricsFollow @11 :Bool;     # MetricValues of this step are on their way
}
