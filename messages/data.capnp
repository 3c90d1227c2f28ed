@0xd9d0000000000003;
# Batches: from the source to the ranks that train on them.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct LoadBatches {
  # Trainer -> Loader. Grants `credits` further packs from `step` on; the Loader works ahead within its credits.
  # Reply: BatchReady per credit, in step order. A repeated grant adds credits.
  step @0 :UInt64;     # first step this rank still wants
  credits @1 :UInt32;
}

struct BatchReady {
  # Loader -> Trainer, one per credit.
  step @0 :UInt64;
  ticket @1 :UInt64;        # PackParcel: the microbatches of this rank's data rank, in order
  microbatches @2 :UInt32;
  nextSample @3 :UInt64;    # cursor in global samples after this step, for the checkpoint
}

struct DataEnded {
  # Loader -> Trainer: the source has no complete step left. Instead of BatchReady for `step`.
  step @0 :UInt64;
}
