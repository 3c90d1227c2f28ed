@0xd9d0000000000005;
# Reductions, the optimizer step, and the report of a finished step.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct ReduceBucket {
  # RankExecutor -> Collective, when a gradient bucket saw its last addition of
  # the step (or microbatch). All ranks of the group ask in the same order. Reply:
  # BucketReduced. Repeated: would be summed twice, so the RankExecutor asks once.
  step @0 :UInt64;
  bucket @1 :UInt32;
}

struct BucketReduced {
  # Collective -> RankExecutor, the reply to ReduceBucket, when the sum over the group is in the bucket.
  # No reply: the RankExecutor counts them until none is missing. Repeated: would hide that another one is
  # missing, so there is one for each request.
  step @0 :UInt64;
  bucket @1 :UInt32;
  normShare @2 :Float64;  # this rank's share of the gradient norm: sum of squares, or largest absolute value
}

struct ReduceValues {
  # Trainer or MetricCollector -> a Collective over all ranks: all-reduce a few
  # doubles. The requests of one sender run in the order of `order`, which is
  # the same on all ranks. Reply: ValuesReduced. A repeated number is a bug.
  order @0 :UInt64;
  values @1 :List(Float64);
  operation @2 :Operation;
  enum Operation { sum @0; max @1; min @2; }
  step @3 :UInt64;  # for traces
}

struct ValuesReduced {
  # Collective -> the actor that asked, the reply to ReduceValues, in the order of the requests. No reply.
  # Repeated: would end a step twice, so there is one for each request.
  order @0 :UInt64;
  values @1 :List(Float64);
  step @2 :UInt64;  # of the request
}

struct HookGradients {
  # Trainer -> RankExecutor, in a job with gradient hooks, when the step's sums are known: the reduced gradients become
  # means and the hooks are called. Reply: GradientsHooked. Repeated: would divide twice, so the Trainer says it once.
  step @0 :UInt64;
  weight @1 :Float64;  # of the step, over all ranks
  loss @2 :Float64;    # the mean
}

struct GradientsHooked {
  # RankExecutor -> Trainer, the reply to HookGradients, when the hooks of this rank have returned. The Trainer reduces
  # both fields over all ranks and goes on to ApplyStep. A second one for a step is a bug.
  step @0 :UInt64;
  normShare @1 :Float64;  # of the hooked gradients, as in StepComputed
  skip @2 :Bool;          # a hook wants no update
}

struct ApplyStep {
  # Trainer -> RankExecutor: make the update whose pass was computed last, and clear the gradients. Reply: StepApplied;
  # the next BeginStep may come before it. A repeated one would update twice: the Trainer says it once for each update.
  step @0 :UInt64;
  gradientScale @1 :Float64;  # 1 / global weight, times the clip factor
  lrMultiplier @2 :Float64;   # of the optimizer's base learning rate
  costs @3 :List(Float64);    # sums over all ranks of StepComputed.costs, to choose the next step's program
  skip @4 :Bool;              # only clear the gradients: loss or gradient is not finite, or a hook wants no update
  loss @5 :Float64;           # of the step so far, for the task's events at its end; may be NaN
  gradNorm @6 :Float64;
  learningRate @7 :Float64;   # absolute
}

struct Sleep {
  # First Trainer -> RankExecutor, after the ApplyStep of `step` and a Snapshot of it: free the memory of parameters,
  # gradients and optimizer, and close the communicators of the modules. RankExecutor -> MetricCollector, after its
  # last MetricsTaken: answer when nothing is being reduced. Then Trainer -> the rank's Collectives and TensorLanes:
  # close the communicator. Reply: Slept. Only Wake may follow it. Repeated: a bug.
  step @0 :UInt64;   # training steps done
  file @1 :Text;     # where the RankExecutor puts the bytes; empty for the others
}

struct Slept {
  # RankExecutor, MetricCollector, Collective, TensorLane -> Trainer of their rank, the reply to Sleep, when its work is
  # done. No reply. Repeated: a bug.
  step @0 :UInt64;
  bytes @1 :UInt64;  # how many bytes the sender has freed
}

struct Wake {
  # A Trainer that got SIGCONT -> every Trainer: wake up. Then each Trainer -> its Collectives and TensorLanes: open the
  # communicator again, together with the other ranks. After their Awakes, Trainer -> its RankExecutor: open the
  # communicators of the modules and restore the memory. Reply: Awake; a Trainer sends none. A Trainer that is not
  # asleep after `step` yet wakes as soon as it is. Repeated for a step: a Trainer ignores it, so the others get one.
  step @0 :UInt64;   # as in Sleep
}

struct Awake {
  # Collective, TensorLane -> Trainer, the reply to Wake, when the communicator is open again. RankExecutor -> Trainer,
  # when memory has the same bytes again; then the next step begins. No reply. Repeated: a bug.
  step @0 :UInt64;
}

struct StepApplied {
  # RankExecutor -> Trainer, when the optimizer has updated this rank's
  # parameters. The events of the step's end and the end of the job wait for it.
  # No reply. A second one, or one without an ApplyStep, is a bug.
  step @0 :UInt64;
}

struct StepFinished {
  # Trainer of rank 0 -> Tracker, when a step's sums are known: the numbers of the step, the same on
  # every mesh. No reply. Repeated for a step: would be written twice, so the Trainer says it once.
  step @0 :UInt64;
  totalSteps @1 :UInt64;
  loss @2 :Float64;
  gradNorm @3 :Float64;
  learningRate @4 :Float64;    # absolute
  tokens @5 :UInt64;           # of this step, over all ranks
  stepSeconds @6 :Float64;
  wallTime @7 :Float64;        # seconds since 1970
  nextSample @8 :UInt64;       # data cursor in global samples after this step
  tokensTotal @9 :UInt64;      # of all steps so far, those before a resume included
  metricsFollow @10 :Bool;     # MetricValues of this step are on their way
  skippedSteps @11 :UInt64;    # updates skipped so far, because loss or gradient was not finite or no label counted
  inference @12 :Bool;         # nothing was trained: ignore loss, gradient norm and learning rate
  flops @13 :Float64;          # of the model for the step's tokens, over all ranks; 0 when they are not computed
}

struct EvaluationFinished {
  # Trainer of rank 0 -> Tracker, when the sums of an evaluation are known: the same on every mesh. MetricValues
  # of it follow. No reply. Repeated for a step: would be written twice, so the Trainer says it once.
  step @0 :UInt64;      # training steps done before it
  loss @1 :Float64;     # weighted mean over all microbatches; NaN when no token counts
  tokens @2 :UInt64;    # over all ranks
  seconds @3 :Float64;
  weight @4 :Float64;   # of all microbatches; 0: no label counts, so there is no loss
}
