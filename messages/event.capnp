@0xd9d0000000000008;
# The event bus: named points of a job that anyone may listen to.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct Subscribe {
  # Any actor -> EventBus. From then on every Event of that name comes to the sender. Repeated: once.
  name @0 :Text;   # of the catalogue, e.g. "train.step.post"; "*" = all
}

struct Publish {
  # Whoever owns the moment -> EventBus. An unknown name is an input error of the publisher.
  name @0 :Text;
  step @1 :UInt64;
  context @2 :Text;   # JSON of the event's context
}

struct Event {
  # EventBus -> subscribers, in order of subscription.
  name @0 :Text;
  step @1 :UInt64;
  context @2 :Text;
}
