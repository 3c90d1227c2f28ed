@0xd9d0000000000004;
# One step through the stages. The data plane: batched, small, no reply per message.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct BeginStep {
  # Trainer -> RankExecutor, with the inputs of a step; where a step has several updates, with those of the next one,
  # after the ApplyStep of the one before. The RankExecutor walks its program while activations and gradients arrive.
  # Reply: StepComputed. A second one for the same step and pass is a bug.
  step @0 :UInt64;
  microbatches @1 :List(UInt64);  # tickets: MicrobatchParcel of inputs, shared data and task state
  pass @2 :Pass;                  # of any kind but texts
  struct Pass {
    kind @0 :Kind;
    number @1 :UInt32;  # of a step's updates from 0, of batches or texts from 1, of rollouts their step; else 0
    enum Kind {
      train @0;     # an update of a step of training: forward and backward
      evaluate @1;  # one batch of the evaluation that follows a step, forward alone
      infer @2;     # a step of an inference job, forward alone
      texts @3;     # the model goes on with prompts
      rollouts @4;  # the same, for the samples of a step that follows
    }
  }
}

struct ActivationReady {
  # RankExecutor or TensorLane -> the RankExecutor that holds pipeline stage `stage`. They arrive in any
  # order and wait for their place in the program. No reply. A second one for the same microbatch is a bug.
  step @0 :UInt64;
  stage @1 :UInt32;       # the receiving pipeline stage
  microbatch @2 :UInt32;
  ticket @3 :UInt64;      # TensorParcel: the transfer of stage - 1
  producedNs @4 :Int64;   # when its action ended, on the clock of the rank that ran it
  pass @5 :BeginStep.Pass; # in work where it comes from
}

struct GradientReady {
  # RankExecutor or TensorLane -> the RankExecutor that holds pipeline stage `stage`: the gradients of
  # its outputs. They arrive in any order. No reply. A second one for the same microbatch is a bug.
  step @0 :UInt64;
  stage @1 :UInt32;       # the receiving pipeline stage
  microbatch @2 :UInt32;
  ticket @3 :UInt64;      # TensorParcel: gradients of the activations that stage + 1 received
  producedNs @4 :Int64;   # as in ActivationReady
  pass @5 :BeginStep.Pass; # as in ActivationReady
}

struct SendTensors {
  # RankExecutor -> its TensorLane of one peer: pass these tensors on to a
  # stage in another process. They are sent in the order of these messages. No
  # reply. Repeated: sent again, and the receiving RankExecutor reports the bug.
  step @0 :UInt64;
  stage @1 :UInt32;       # the receiving pipeline stage
  microbatch @2 :UInt32;
  ticket @3 :UInt64;      # TensorParcel
  gradient @4 :Bool;      # false: activation
  producedNs @5 :Int64;   # as in ActivationReady
  pass @6 :BeginStep.Pass; # as in ActivationReady
}

struct TensorsAnnounced {
  # Sending TensorLane -> receiving TensorLane: describes the tensors that come next on the
  # connection of this pair of ranks. No reply; the receiver reads as many tensors as are
  # described. Repeated: it would wait for more tensors, so there is one for each SendTensors.
  step @0 :UInt64;
  stage @1 :UInt32;             # the receiving pipeline stage
  microbatch @2 :UInt32;
  gradient @3 :Bool;            # false: activation
  tensors @4 :List(Description);
  struct Description {
    name @0 :Text;
    dtype @1 :UInt8;             # c10::ScalarType
    shape @2 :List(Int64);       # not negative; one parcel is bounded in bytes
    requiresGrad @3 :Bool;       # the sender wants its gradient back
    onHost @4 :Bool;             # stays on the host; false: goes to the receiving rank's device
  }
  producedNs @5 :Int64;
  pass @6 :BeginStep.Pass;
}

struct StepComputed {
  # RankExecutor -> Trainer, when all actions of a pass ran and all gradient buckets are reduced. The
  # Trainer sums these numbers over all ranks and replies with ApplyStep. A second one for a pass is a bug.
  step @0 :UInt64;
  lossSum @1 :Float64;       # sum of loss * weight of this rank's last stage, 0 elsewhere
  weightSum @2 :Float64;
  normShare @3 :Float64;   # this rank's share; over all ranks together, each gradient element counts once
  computeSeconds @4 :Float64;
  costs @5 :List(Float64);   # schedule `auto` only, sent once: the times that this rank measured, 0 for those of others
  pass @6 :BeginStep.Pass;    # that was computed; only training has a norm and something to apply
}

struct LeadAction {
  # RankExecutor -> the RankExecutors that share collectives with it inside an action,
  # under the dynamic order: the action that all of them run next. The first of them says
  # it before it runs the action. The others run the actions in the order of these messages,
  # each as soon as its inputs are there. No reply. A number that is repeated or left out is a bug.
  step @0 :UInt64;
  number @1 :UInt32;      # within the update, from 0
  parts @2 :List(Part);   # more than one: composed
  update @3 :UInt32;      # of the step
  struct Part {
    kind @0 :Kind;
    stage @1 :UInt32;
    microbatch @2 :UInt32;
  }
  enum Kind {
    forward @0;
    backward @1;
    backwardInput @2;
    backwardWeight @3;
  }
}
