@0xd9d0000000000008;
# The event bus: named points of a job that anyone may listen to.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Subscribe {
  # Any actor -> EventBus: from then on the sender gets every Event of that name. No reply. An
  # unknown name is an input error of the sender. Repeated: the sender still gets each Event once.
  name @0 :Text;   # of the catalogue, e.g. "train.step.post"; "*" = all
  everyRank @1 :Bool;  # true: the events of every rank; false: only those of rank 0
  past @2 :Bool;       # true: the sender first gets the Events that it missed from before the first step
                       # (`configuration` and `ready`, in their order), so that it may subscribe late
  decides @3 :Bool;    # the sender says EventsFollowed, and the Trainer of rank 0 waits for it
  keepsState @4 :Bool; # the sender answers KeepState. `decides` and `keepsState` hold once any Subscribe has set them
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
  # Trainer -> EventBus, when training starts: asks which events have listeners. Reply: Listeners, at once and
  # after each further Subscribe. Repeated: answered again.
  rank @0 :UInt32;
}

struct Listeners {
  # EventBus -> Trainer: the events that this rank publishes. These are the ones with subscribers, and those of before
  # the first step, which the EventBus keeps for late subscribers. The Trainer publishes no others, so an event without
  # listeners costs no message. No reply. Repeated: the last one replaces all before it.
  names @0 :List(Text);   # "*" = all
  deciding @1 :List(UInt64);  # for rank 0: packed ids of the own actors that said `decides` in a Subscribe
  keeping @2 :List(UInt64);   # likewise, of those that said `keepsState`
}

struct FlushEvents {
  # Coordinator -> EventBus, when all ranks have finished; EventBus -> each own actor of the job, after the Events that
  # it sent to that actor. Reply of an own actor: EventsHeard, when it has handled those. Repeated: answered again.
  actors @0 :UInt32;  # how many own actors the job has
}

struct EventsHeard {
  # An own actor (its dispatcher) -> Coordinator: the actor has handled all Events so far, and its messages about them
  # have been sent. No reply. Repeated: no effect.
  actor @0 :UInt32;
}

struct EventsFollowed {
  # An own actor that said `decides` -> Trainer of rank 0, when it has handled the Event of the end of a step or of an
  # evaluation, and after its own requests. No reply: rank 0 adds its part of the next step's sums when all of those
  # Events have been followed. So a request takes effect at the same step in every run. Repeated: no effect.
  events @0 :UInt64;  # how many Events of these two kinds it has handled
}

struct EndJob {
  # Any actor -> Trainer of rank 0, while the job trains or infers: end the job after the step on which all ranks
  # agree, as if it were the job's last step. Trainers of other ranks say it for callbacks of their tasks and models.
  # No reply. Repeated: the first reason counts.
  reason @0 :Text;    # for log, report and run.jsonl
}

struct ScaleLearningRate {
  # Any actor -> Trainer of rank 0, while the job trains. All ranks read `factor` from the sums of the next step,
  # and multiply the scheduled learning rate by it from the step after that one. Checkpoints keep it. No reply.
  # Repeated: the last one counts.
  factor @0 :Float64;  # of the scheduled rate, not of an earlier factor; finite, at least 0
}

struct KeepState {
  # Trainer of rank 0 -> EventBus, for the checkpoint of `step`, after the events of that step. EventBus -> each own
  # actor that said `keepsState`, after the Events that it sent to that actor. Reply to the Trainer of rank 0:
  # StateKept. Repeated: answered again.
  step @0 :UInt64;
}

struct StateKept {
  # An own actor -> Trainer of rank 0, the reply to KeepState. EventBus -> the same, for an actor that has
  # finished. No reply: after the last one the Trainer says CheckpointState. Ignored when repeated, and for a
  # step whose checkpoint is not in flight.
  step @0 :UInt64;
  actor @1 :UInt64;   # packed id
  state @2 :Text;     # JSON; empty: the actor has finished
}

struct Event {
  # EventBus -> each subscriber, in the order of subscription, when a Publish has come. No reply: the job
  # does not wait for subscribers. Repeated: there is one for each Publish, so it has happened again.
  name @0 :Text;      # this and the other fields as published
  step @1 :UInt64;
  context @2 :Text;
  rank @3 :UInt32;
}
