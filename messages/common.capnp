@0xd9d0000000000001;
# What every message has: the envelope. One flat array holds envelope and body.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Envelope {
  # Around every message. Filled by Actor::tell, read by the dispatcher of the receiver.
  epoch @0 :UInt32;
  # Membership the sender believed in. A receiver drops a message of another epoch and counts it.
  sender @1 :UInt64;
  # ActorId, packed: role in the upper 16 bits, index in the lower 48.
  receiver @2 :UInt64;
  # ActorId of the addressee. A node that gets a message for one of its actors passes it on unopened.
  sequence @3 :UInt64;
  # Counts the messages of this pair of sender and receiver from 1. A repeated or older one is dropped and counted.
  sendTime @4 :Int64;
  # Monotonic nanoseconds of the sender's process; the receiver's clock offset turns it into its own time.
  flow @5 :UInt64;
  # Joins the sender's span to the receiver's in a trace; unique in the job, 0 = not traced.
  type @6 :UInt64;
  # Cap'n Proto type id of the body's struct.
  body @7 :AnyPointer;
}

struct Failed {
  # Child -> its parent, Node -> Coordinator. When: a handler threw. The sender is dead afterwards. No reply.
  # Repeated for one actor: only the first counts.
  kind @0 :Kind;
  text @1 :Text;      # what was given, what was expected, what to try next
  actor @2 :Text;     # name of the actor that threw, e.g. "rank_executor/2"
  rank @3 :Int32;     # global rank, -1 when the actor belongs to no rank
  step @4 :UInt64;    # 0 before the first step
  message @5 :Text;   # name of the message it was handling
  enum Kind { input @0; bug @1; environment @2; }
}

struct Ready {
  # Any actor -> its parent. When: it has prepared itself and can take work. Once in its life.
  rank @0 :Int32;
  seconds @1 :Float64;  # how long preparing took
  entries @2 :UInt64;   # tensors of a resumed checkpoint that this actor took and no other rank answers for
}

struct Stop {
  # Parent -> child. When: the job is done. The child finishes what it began, says Stopped, and ends.
  # Repeated: ignored.
  reason @0 :Text;
}

struct Stopped {
  # Child -> parent: the answer to Stop.
  rank @0 :Int32;
}
