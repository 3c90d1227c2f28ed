@0xd9d0000000000008;
# The event bus: named points of a job that anyone may listen to.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Subscribe {
  # Any actor -> EventBus: from then on the sender gets every Event of that name. No reply. An
  # unknown name is an input error of the sender. Repeated: the sender still gets each Event once.
  name @0 :Text;   # of the catalogue, e.g. "train.step.post"; "*" = all
  everyRank @1 :Bool;  # false: of a rank's events those of rank 0 alone
  past @2 :Bool;       # first those Events of before the first step that have been and that the sender did not get:
                       # `configuration` and `ready`, in their order; an actor that subscribes late needs no other start
}

struct Publish {
  # The actor that owns the moment -> EventBus, when it has come. No reply; subscribers get an Event.
  # An unknown name is an input error of the publisher. Repeated: told again, as another event.
  name @0 :Text;
  step @1 :UInt64;
  context @2 :Text;   # JSON of the event's context
  rank @3 :UInt32;    # where it happened
}

struct AskForListeners {
  # Trainer -> EventBus, when training starts: which events does anybody want to hear of? Reply: Listeners, at once and
  # after each further Subscribe. Repeated: answered again.
  rank @0 :UInt32;
}

struct Listeners {
  # EventBus -> Trainer: the events of this rank that somebody wants to hear of, and those kept for who asks for the
  # past; it publishes no others, so that an event without listeners costs no message. No reply. Repeated: the last
  # one counts in the place of all before it.
  names @0 :List(Text);   # "*" = all
}

struct FlushEvents {
  # Coordinator -> EventBus, when all ranks have finished; EventBus -> each own actor of the job, behind the Events that
  # it was told. Reply of an own actor: EventsHeard, when it has handled those. Repeated: answered again.
  actors @0 :UInt32;  # how many own actors the job has
}

struct EventsHeard {
  # An own actor (its dispatcher) -> Coordinator: what it says of the Events so far has been told. No reply.
  # Repeated: no effect.
  actor @0 :UInt32;
}

struct Event {
  # EventBus -> each subscriber, in the order of subscription, when it is told Publish. No reply: the job
  # does not wait for subscribers. Repeated: there is one for each Publish, so it has happened again.
  name @0 :Text;      # as published, and so the other fields
  step @1 :UInt64;
  context @2 :Text;
  rank @3 :UInt32;
}
