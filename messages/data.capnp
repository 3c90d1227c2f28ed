@0xd9d0000000000003;
# Batches: from the source to the ranks that train on them.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct LoadBatches {
  # Trainer -> Loader, at the start and after each step: make the microbatches of `credits` steps from `step` on.
  # Reply: BatchReady per step, in step order, or DataEnded. Each step is asked for once: `step` follows the last step
  # that was asked for before; another one is a bug.
  step @0 :UInt64;
  credits @1 :UInt32;
}

struct BatchReady {
  # Loader -> Trainer, one per step of LoadBatches. No reply. A second one for the same step is a bug.
  step @0 :UInt64;
  obsoleteTicket @1 :UInt64;        # samples; the Trainer made the inputs of them
  obsoleteMicrobatches @2 :UInt32;
  nextSample @3 :UInt64;            # the first global sample of the next step, for the checkpoint
  microbatches @4 :List(UInt64);    # tickets: MicrobatchParcel each, in order, for BeginStep
  tokens @5 :UInt64;                # in these microbatches, whether they count in the loss or not
}

struct DataEnded {
  # Loader -> Trainer: the data has no whole step left. Instead of BatchReady for `step` and all steps after it.
  # No reply; the Trainer ends the job.
  step @0 :UInt64;
}
