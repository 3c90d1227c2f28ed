#pragma once
// The states of a Node, in order, and what leads from one to the next.

#include "actors/notes/lifecycle.hpp"

namespace d9d {

enum class NodeState {
  dialling,
  opening,
  joined,
  meeting,
  spawning_listeners,
  spawning_rest,
  ready,
  training,
  ended
};

constexpr const char* name_of(NodeState state) {
  constexpr const char* names[] = {"dialling",      "opening", "joined",   "meeting", "spawning_listeners",
                                   "spawning_rest", "ready",   "training", "ended"};
  return names[static_cast<int>(state)];
}

inline constexpr auto node_transitions = [] {
  using enum NodeState;
  return std::to_array<Transition<NodeState>>({
      {dialling, "Dialed of node 0; at node 0 itself at once", opening},
      {opening, "its port is open; else a Tick tries again", joined},
      {joined, "Welcome", meeting},
      {meeting, "Dialed of all nodes before it, Greeting of all after it", spawning_listeners},
      {spawning_listeners, "Ready of the actors that hear the others", spawning_rest},
      {spawning_rest, "Ready of the rest", ready},
      {ready, "StartTraining", training},
      {{dialling, training},
       "Refused, PeerDown of node 0, StopNode, a deadline, a signal without a job",
       ended},
  });
}();

}  // namespace d9d
