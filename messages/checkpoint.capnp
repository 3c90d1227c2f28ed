@0xd9d0000000000006;
# A checkpoint: copies now, disk later, one commit.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Snapshot {
  # Trainer -> RankExecutor, after ApplyStep of `step`: copy the state and go on training. Reply: MetricState; the copy goes to
  # the CheckpointWriter (WriteShard).
  step @0 :UInt64;
  directory @1 :Text;   # the temporary directory of this checkpoint
}

struct WriteShard {
  # RankExecutor -> CheckpointWriter of its node. Reply: ShardWritten goes to the Coordinator, not back.
  step @0 :UInt64;
  directory @1 :Text;
  file @2 :Text;
  ticket @3 :UInt64;    # ShardParcel: named slices on the host; 0 = this rank has nothing to write
  rank @4 :Int32;       # whose shard it is
}

struct ShardWritten {
  # CheckpointWriter -> Coordinator, when the file is on disk. The Coordinator commits when all ranks reported.
  step @0 :UInt64;
  rank @1 :Int32;
  report @2 :Text;      # JSON: file, size, checksum, entries
  failure @3 :Text;     # empty when written; otherwise why not: the checkpoint is given up, training goes on
}

struct CheckpointState {
  # Trainer -> Coordinator: what belongs to the checkpoint beside tensors.
  step @0 :UInt64;
  rank @1 :Int32;
  nextSample @2 :UInt64;
  state @3 :Text;       # JSON
}

struct CheckpointCommitted {
  # Coordinator -> Trainers and EventBus: this checkpoint is complete and will be found on resume.
  step @0 :UInt64;
  directory @1 :Text;
  failure @2 :Text;     # empty when committed
}

struct ExportModel {
  # Coordinator -> CheckpointWriter of node 0: write a Hugging Face folder from a committed checkpoint.
  # Reply: ModelExported.
  checkpoint @0 :Text;
  target @1 :Text;
}

struct ModelExported {
  # CheckpointWriter -> Coordinator.
  target @0 :Text;
  failure @1 :Text;
}
