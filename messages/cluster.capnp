@0xd9d0000000000002;
# Membership: how processes become one job.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Join {
  # Node -> Coordinator, first message of a process. Reply: Welcome (when the job is complete) or Refused.
  # Repeated by the same process: ignored. The sender's handle travels beside the message.
  ranks @0 :UInt32;        # ranks this process offers; 0 = whatever is left
  nodeIndex @1 :Int32;     # wished place among the nodes (NODE_RANK), -1 = next free
  host @2 :Text;           # where other nodes reach this one; of node 0 empty = where each of them dialled it
  port @3 :UInt16;
  build @4 :Text;          # version and build id; must be equal on all nodes
  jobHash @5 :Text;        # hash of the resolved job without its node section; must be equal on all nodes
  token @6 :Text;          # the job's shared secret, empty when none is set
  incarnation @7 :UInt64;  # random per start of a process, so a reborn node is a stranger
  keys @8 :Text;           # JSON of the keys behind jobHash, secrets hidden; a refusal names those that differ
}

struct Refused {
  # Coordinator -> Node. The process reports the reason and ends with exit code 1.
  reason @0 :Text;
}

struct Welcome {
  # Coordinator -> every Node, when all ranks are there. Reply: NodeReady. Nodes dial each other with these addresses.
  epoch @0 :UInt32;
  nodeIndex @1 :UInt32;    # of the receiver
  nodes @2 :List(Member);  # index in the list = node index
  obsoleteStoreHost @3 :Text;    # tensors go to the port of a Member, like messages
  obsoleteStorePort @4 :UInt16;
  resumeFrom @5 :Text;     # committed checkpoint directory, empty = start fresh; decided once for all
  resumeStep @6 :UInt64;
  resumeState @7 :Text;    # JSON kept by the checkpoint for task, metrics and trackers
  resumeSample @8 :UInt64; # data cursor in global samples
  tag @9 :Text;            # random per job start: names what is being written
  struct Member {
    host @0 :Text;
    port @1 :UInt16;       # of its gate: messages and tensors
    ranks @2 :UInt32;
  }
}

struct NodeReady {
  # Node -> Coordinator: every actor of this node is ready. Once per epoch.
  nodeIndex @0 :UInt32;
  entries @1 :UInt64;  # sum of its actors' Ready.entries: over all nodes it must be the whole checkpoint
}

struct StartTraining {
  # Coordinator -> Node -> its Trainers and its TraceCollector, when all nodes are ready.
  firstStep @0 :UInt64;  # 1 for a fresh job, the resumed step + 1 otherwise
}

struct RankFinished {
  # Trainer -> Node -> Coordinator: this rank's last step is done.
  rank @0 :Int32;
  step @1 :UInt64;
  signal @2 :UInt32;  # why it is the last one: all ranks agreed to stop; 0 = the job has no more
}

struct Signalled {
  # The process's signal thread -> Node -> its Trainers, and -> Coordinator unless it only asks for a checkpoint.
  # SIGTERM and SIGINT: stop after the step on which all ranks agree. SIGUSR1: a checkpoint after that step. Repeated:
  # a second stop changes nothing unless `now`; each SIGUSR1 counts.
  signal @0 :UInt32;     # as in signal.h of Linux
  now @1 :Bool;          # leave without finishing the step
  nodeIndex @2 :UInt32;  # whose process got it
}

struct StopNode {
  # Coordinator -> Node. The job is over for this process.
  failed @0 :Bool;   # true: exit code 1 after `reason` was reported
  reason @1 :Text;
  inputError @2 :Bool;  # true: the cause is the user's input, exit code 2
  exitCode @3 :UInt32;  # 128 + the signal that ended the job; 0 = as the others say
}

struct Dialed {
  # A dialling helper -> Node: the connection to another process. Its handle travels beside the message when ok.
  nodeIndex @0 :UInt32;
  ok @1 :Bool;
  reason @2 :Text;
  ownHost @3 :Text;  # numeric address of this process on the route there, empty when not ok
}

struct PeerDown {
  # The runtime -> whoever watches another process: it is gone. Once per incarnation.
  nodeIndex @0 :UInt32;
  reason @1 :Text;
}

struct Tick {
  # An actor -> itself after a delay: deadlines and periodic work.
  kind @0 :UInt32;   # the actor's own numbering
  value @1 :UInt64;
}
