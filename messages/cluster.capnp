@0xd9d0000000000002;
# Membership: how processes become one job.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Join {
  # Node -> Coordinator, the first message of a process. Reply: Welcome when all ranks have joined, or
  # Refused. The handle of the sender travels beside the message. Until it is accepted, a connection that says
  # anything else is closed. Repeated by the same incarnation: ignored.
  ranks @0 :UInt32;        # ranks this process offers; 0 = whatever is left
  nodeIndex @1 :Int32;     # the place among the nodes that it asks for (NODE_RANK), -1 = next free
  host @2 :Text;           # where other nodes reach this one; node 0 may leave it empty = where each node dialled it
  port @3 :UInt16;
  build @4 :Text;          # version and build id; must be equal on all nodes
  jobHash @5 :Text;        # hash of the resolved job without its node section; must be equal on all nodes
  obsoleteToken @6 :Text;  # unused; other builds read Join, so its fields keep their numbers
  incarnation @7 :UInt64;  # random, new at each start of a process
  keys @8 :Text;           # JSON of what jobHash covers, secrets hidden; a refusal names the keys that differ
  command @9 :UInt64;      # random number shared by all processes that one command started; 0 = started alone
  place @10 :UInt32;       # of this process among those of that command
  hostNumber @11 :UInt64;  # equal on processes that one command, or a launcher, has started on one host; 0 = unknown
  inputs @12 :Text;        # JSON of prints of the files that this process reads (node_inputs()); empty = not compared
}

struct Refused {
  # Coordinator -> Node, instead of Welcome. No reply: the process prints the reason
  # and ends with exit code 1. Not repeated; a second one would find the process ended.
  reason @0 :Text;
}

struct Welcome {
  # Coordinator -> every Node, when all ranks are there. Each node dials the nodes before it at these addresses,
  # greets them, and waits for those after it; then it spawns its actors. Reply: NodeReady. Repeated: ignored,
  # because the node has formed.
  epoch @0 :UInt32;
  nodeIndex @1 :UInt32;    # of the receiver
  nodes @2 :List(Member);  # index in the list = node index
  resumeFrom @3 :Text;     # committed checkpoint directory, empty = start fresh; decided once for all
  resumeStep @4 :UInt64;
  resumeState @5 :Text;    # JSON kept by the checkpoint for task, metrics and trackers
  resumeSample @6 :UInt64; # data cursor in global samples
  tag @7 :Text;            # random per job start: part of the names of files that are being written
  secret @8 :Text;         # random per job start: a process that proves it on any connection is a member
  struct Member {
    host @0 :Text;
    port @1 :UInt16;       # of its gate: messages and tensors
    ranks @2 :UInt32;
    hostNumber @3 :UInt64; # as in Join
  }
}

struct Greeting {
  # Node -> each Node before it but node 0 (which knows it by its Join), over the connection that it has dialled. The
  # handle of the sender travels beside the message. No reply. Repeated: ignored.
  nodeIndex @0 :UInt32;  # of the sender
}

struct NodeReady {
  # Node -> Coordinator, when every actor of this node is ready. When all nodes
  # are, the Coordinator replies with StartTraining. Repeated by a node: ignored.
  nodeIndex @0 :UInt32;
  entries @1 :UInt64;  # sum of its actors' Ready.entries; the sum over all nodes must be the whole checkpoint
}

struct StartTraining {
  # Coordinator -> Node -> its Trainers and its TraceCollector, when all nodes are ready. No reply: training
  # starts. The Coordinator says it once in an epoch; a second one would start the job's first step again.
  firstStep @0 :UInt64;  # 1 for a fresh job, the resumed step + 1 otherwise
}

struct RankFinished {
  # Trainer -> Coordinator, when the rank's last step is applied and its checkpoint, if any,
  # committed. No reply; after the last rank the Coordinator ends the job. Repeated by a rank: counts once.
  rank @0 :Int32;
  step @1 :UInt64;
  signal @2 :UInt32;  # the signal on which all ranks agreed to stop; 0 = the job has no more steps
  ended @3 :Text;     # rank 0 only: why an actor or evaluation.stop_after ended the job; empty = neither did
}

struct Signalled {
  # The process's signal thread -> Node -> its Trainers, and -> Coordinator when the signal stops the job. Also a
  # user's actor -> the Trainer of rank 0. SIGTERM, SIGINT and SIGHUP stop the job after the step on which all ranks
  # agree. SIGUSR1 asks for a checkpoint after that step. SIGTSTP frees memory after that step, SIGCONT restores it.
  # SIGUSR2, for the Node alone, writes a trace. No reply. Repeated: a second stop changes nothing unless `now` is
  # set; each SIGUSR1 counts.
  signal @0 :UInt32;     # as in signal.h of Linux
  now @1 :Bool;          # end at once, without finishing the step
  nodeIndex @2 :UInt32;  # whose process got it
}

struct StopNode {
  # Coordinator -> Node, when the job is over for this process. No reply:
  # the Node stops its children, and the process ends. Repeated: ignored.
  failed @0 :Bool;   # true: exit code 1 after `reason` was reported
  reason @1 :Text;
  inputError @2 :Bool;  # true: the cause is the user's input, exit code 2
  exitCode @3 :UInt32;  # 128 + the signal that ended the job; 0 = as the fields above say
}

struct Dialed {
  # A thread that dials -> Node, when it has connected to another process or failed to. The new connection's
  # handle travels beside the message if `ok`. No reply. Repeated for a node that has answered: ignored.
  nodeIndex @0 :UInt32;
  ok @1 :Bool;
  reason @2 :Text;
  ownHost @3 :Text;  # numeric address of this process on the route there, empty when not ok
  stranger @4 :Bool;  # the two processes do not know the same secret: trying again is useless
}

struct PeerDown {
  # The host -> the Node or Coordinator that watches another process, when that process or the connection with it is
  # gone. No reply: the job ends, or, before it has formed, the node is taken off the list. Once for each incarnation.
  nodeIndex @0 :UInt32;  # at the Coordinator the number that the node got when it joined, at a Node the index
  reason @1 :Text;
}

struct Tick {
  # An actor -> itself after a delay, for deadlines and periodic work. No reply. Repeated: an actor may have
  # several under way; `kind` and `value` tell which one this is and whether it is out of date.
  kind @0 :UInt32;   # the actor's own numbering
  value @1 :UInt64;
}
