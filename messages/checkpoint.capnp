@0xd9d0000000000006;
# A checkpoint: copies now, disk later, one commit. At most one is in flight: the Trainer asks
# for the next one when CheckpointCommitted of the last one has come.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Snapshot {
  # Trainer -> RankExecutor of its rank, after ApplyStep of `step`: copy the state and go on training.
  # Reply: MetricState. The copy goes to the CheckpointWriter in WriteShard. Repeated: copied and written
  # again, and counted as another rank's shard, so the Trainer says it once for each checkpoint.
  step @0 :UInt64;
  directory @1 :Text;   # the temporary directory of this checkpoint
}

struct WriteShard {
  # RankExecutor -> CheckpointWriter of its node, when the copy is made. No reply to the sender:
  # the CheckpointWriter tells the Coordinator ShardWritten. Repeated: the ticket is spent, so the
  # second report is a failure and the checkpoint is given up.
  step @0 :UInt64;
  directory @1 :Text;   # as in Snapshot
  file @2 :Text;        # name of the shard in it, without its ending
  ticket @3 :UInt64;    # ShardParcel: named slices on the host; 0 = this rank has nothing to write
  rank @4 :Int32;       # whose shard it is
}

struct ShardWritten {
  # CheckpointWriter -> Coordinator, when the file is on disk or could not be written. No reply: when all
  # ranks have reported, the Coordinator commits. Repeated: would count as another rank's shard, so there is
  # one for each WriteShard.
  step @0 :UInt64;
  rank @1 :Int32;
  report @2 :Text;      # JSON: file, size, checksum, entries; empty when the rank had nothing to write
  failure @3 :Text;     # empty when written; otherwise why not: the checkpoint is given up, training goes on
}

struct CheckpointState {
  # Trainer -> Coordinator, when MetricState has come: the part of the checkpoint that is not tensors. Reply:
  # CheckpointCommitted, when all ranks have reported. Repeated by a rank: replaces its earlier one.
  # With `amends`, from rank 0 before the first step of a start: what the resumed checkpoint of `step` still lacked,
  # because a signal ended the run before its evaluation. No reply; if the disk refuses, the checkpoint stays as it was
  # and the next start makes up for it again.
  step @0 :UInt64;
  rank @1 :Int32;
  nextSample @2 :UInt64;   # data cursor in global samples after `step`
  state @3 :Text;          # JSON: metrics, the state of the task and of a stream of data, tokens so far
  amends @4 :Bool;         # `state` is a merge patch (RFC 7396) to what rank 0 keeps in the committed checkpoint
}

struct CheckpointCommitted {
  # Coordinator -> every Trainer, when a checkpoint is complete and will be found on resume, or is given up.
  # No reply: the Trainer may ask for the next one, or finish. Repeated, or of another step than the one in
  # flight: ignored. Listeners get train.checkpoint.committed or .failed from the EventBus instead.
  step @0 :UInt64;
  directory @1 :Text;   # empty when it is given up
  failure @2 :Text;     # empty when committed
}

struct RollBack {
  # Any actor -> Trainer of rank 0, while the job trains. All ranks agree on a step. After it they restore the newest
  # checkpoint that is older than step `before`, and train on with the data that follow the agreed step. No reply:
  # listeners get train.rolled_back. Repeated for a step that was undone already: no effect. Repeated for a later
  # step: the job goes back again, at most trainer.checkpointing.roll_backs_max times in all.
  before @0 :UInt64;    # the first step that went wrong
}

struct RestoreState {
  # Trainer -> RankExecutor of its rank, after ApplyStep of `step`: parameters, optimizer and buffers become those of a
  # committed checkpoint. Reply: StateRestored. Repeated: the same again.
  step @0 :UInt64;
  directory @1 :Text;         # of the checkpoint
  obsoleteSkippedSteps @2 :UInt64;
  skipped @3 :List(UInt64);   # how often each update of the checkpoint's steps was not made
}

struct StateRestored {
  # RankExecutor -> Trainer of its rank, the reply to RestoreState. No reply: the job goes on.
  # Repeated: a bug.
  step @0 :UInt64;            # as in RestoreState
}

struct ExportModel {
  # Coordinator -> CheckpointWriter of every node, when training is over: write a share of a Hugging Face folder
  # from a committed checkpoint. Reply: ModelExported. The Coordinator says it once for each share. When the node
  # of a share does not see the folder, node 0 is asked for that share. Repeated: written again.
  checkpoint @0 :Text;  # directory of the checkpoint
  target @1 :Text;      # folder inside export_to that the Coordinator publishes; empty: only an adapter
  share @2 :UInt32;     # which one; the first share also has the files that hold no weights
  shares @3 :UInt32;    # how many there are
}

struct ModelExported {
  # CheckpointWriter -> Coordinator, the reply to ExportModel. No reply: when all shares are there the
  # Coordinator publishes folder and train.exported, and ends the job. Repeated: has no effect.
  target @0 :Text;
  failure @1 :Text;     # empty when the share is written; otherwise why not: the job fails
  share @2 :UInt32;     # as in ExportModel
  unseen @3 :Bool;      # the folder is not on a disk of this node: nothing was written
}
