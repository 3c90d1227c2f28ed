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
  decides @3 :Bool;    # the sender says EventsFollowed, and the Trainer of rank 0 waits for it
  keepsState @4 :Bool; # the sender answers KeepState; of this kind is an actor once it has said so in one Subscribe
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
  deciding @1 :List(UInt64);  # packed ids of own actors, for rank 0: those that said `decides` in a Subscribe
  keeping @2 :List(UInt64);   # and `keepsState`
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

struct EventsFollowed {
  # An own actor that said `decides` -> Trainer of rank 0, behind what it asks for, when it has handled an Event of the
  # end of a step or of an evaluation. No reply: rank 0 adds its part of the next step's sums when all of those Events have
  # been followed, so what an actor asks for takes effect at the same step in every run. Repeated: no effect.
  events @0 :UInt64;  # how many of these two it has handled
}

struct EndJob {
  # Any actor -> Trainer of rank 0, while the job trains or infers: end the job after the step on which all ranks agree, as
  # after its last one. No reply. Repeated: the first reason counts.
  reason @0 :Text;    # for log, report and run.jsonl
}

struct ScaleLearningRate {
  # Any actor -> Trainer of rank 0, while the job trains: from the step behind the next sums on the learning rate is the
  # scheduled one times `factor`, on all ranks. Checkpoints keep it. No reply. Repeated: the last one counts.
  factor @0 :Float64;  # of the schedule, not of the factor before; finite, at least 0
}

struct KeepState {
  # Trainer of rank 0 -> EventBus, for the checkpoint of `step`, behind the events of that step; EventBus -> each own actor
  # that said `keepsState`, behind the Events that it was told. Reply to the Trainer of rank 0: StateKept. Repeated:
  # answered again.
  step @0 :UInt64;
}

struct StateKept {
  # An own actor -> Trainer of rank 0, the reply to KeepState; EventBus -> the same for an actor that has finished. No reply:
  # with the last one the Trainer says CheckpointState. Repeated, or for another step than the one in flight: ignored.
  step @0 :UInt64;
  actor @1 :UInt64;   # packed id
  state @2 :Text;     # JSON; empty: the actor has finished
}

struct Event {
  # EventBus -> each subscriber, in the order of subscription, when it is told Publish. No reply: the job
  # does not wait for subscribers. Repeated: there is one for each Publish, so it has happened again.
  name @0 :Text;      # as published, and so the other fields
  step @1 :UInt64;
  context @2 :Text;
  rank @3 :UInt32;
}
