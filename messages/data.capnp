@0xd9d0000000000003;
# Batches: from the source to the ranks that train on them.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct LoadBatches {
  # Trainer -> Loader, at the start and after each step: make the microbatches of `credits` steps,
  # the first of which is `step`. Reply: BatchReady for each step, in step order, or DataEnded.
  # Repeated: `step` must be the one after the last step that was asked for; another one is a bug.
  step @0 :UInt64;
  credits @1 :UInt32;   # how many steps
}

struct BatchReady {
  # Loader -> Trainer, one for each step of LoadBatches, when the inputs of its microbatches are made. No
  # reply: the Trainer begins the step when its turn has come. A second one for the same step is a bug.
  step @0 :UInt64;
  nextSample @1 :UInt64;          # the first global sample of the next step, for the checkpoint
  microbatches @2 :List(UInt64);  # tickets of one MicrobatchParcel each, in order, for BeginStep
  tokens @3 :UInt64;              # in these microbatches, whether they count in the loss or not
  flops @4 :Float64;              # of the model over these tokens; 0 where nothing asks for it
  streamState @5 :Text;           # JSON for the checkpoint: where a stream is after this step; empty: no stream
  isLast @6 :Bool;                # the stream has no whole step left: the Trainer asks all ranks to end with this step
}

struct DataEnded {
  # Loader -> Trainer, instead of BatchReady for `step` and all steps after it: the data has no
  # whole step left. No reply: the Trainer fails with an input error. When a signal has ended training
  # before `step`, or the batch before it was the last, the Trainer only learns that the Loader is idle.
  # Repeated: the same once more.
  step @0 :UInt64;   # the first one without data
}
