@0xd9d0000000000001;
# What every message has: the envelope. One flat array holds envelope and body.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Envelope {
  # Around every message. Actor::tell fills it. The dispatcher of the receiver reads it and drops a message of
  # another epoch, and one whose sequence number this sender has already used for this receiver on this
  # connection. The comments of all other messages say what happens when the same body comes again
  # in a new envelope.
  epoch @0 :UInt32;
  # The number of the membership in which the sender sent it. A receiver drops a message of another epoch and counts it.
  sender @1 :UInt64;
  # ActorId, packed: role in the upper 16 bits, index in the lower 48.
  receiver @2 :UInt64;
  # ActorId of the addressee. A node that gets a message for one of its actors passes it on unopened.
  sequence @3 :UInt64;
  # Counts the messages of this pair of sender and receiver from 1 in each epoch. The receiver drops a repeated
  # or older one and counts it.
  sendTime @4 :Int64;
  # Monotonic nanoseconds of the sender's process; the receiver's clock offset turns it into its own time.
  flow @5 :UInt64;
  # Joins the sender's span to the receiver's in a trace; unique in the job, 0 = not traced.
  type @6 :UInt64;
  # Cap'n Proto type id of the body's struct.
  body @7 :AnyPointer;
}

struct Failed {
  # Child -> its parent, and Node -> Coordinator, when a handler threw. The sender is
  # dead afterwards. No reply: the Coordinator ends the job. Repeated, by the same actor
  # or another one: the job ends once, with the first cause. After an environment error
  # the Coordinator waits a second for a better cause, because a broken connection is
  # often only a symptom.
  kind @0 :Kind;
  text @1 :Text;      # what was given, what was expected, what to try next
  actor @2 :Text;     # name of the actor that threw, e.g. "rank_executor/2"; empty: none did
  rank @3 :Int32;     # global rank, -1 when the actor belongs to no rank
  step @4 :UInt64;    # 0 before the first step
  message @5 :Text;   # name of the message it was handling
  enum Kind { input @0; bug @1; environment @2; }
}

struct Ready {
  # Any actor -> its parent, when it has prepared itself and can take work.
  # No reply; when all children are ready the Node says NodeReady. An actor
  # says it once in its life; a second one would count its `entries` twice.
  rank @0 :Int32;
  seconds @1 :Float64;  # how long preparing took
  entries @2 :UInt64;   # tensors that this actor read from a resumed checkpoint and that no other rank counts
}

struct Stop {
  # Parent -> child, when the job is over or has failed. The child finishes what it has
  # begun and ends. No reply: the parent watches the end of its children. Repeated: ignored.
  reason @0 :Text;    # why the job is over; actors of d9d end without looking at it
}
